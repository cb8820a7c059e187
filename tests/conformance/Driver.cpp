#include "tests/conformance/Driver.h"

#include <ATen/ATen.h>

#include <fstream>
#include <stdexcept>

namespace lockstep::conformance {

void forEachCombination(const Run& run,
                        const std::function<void(const nlohmann::json& combination)>& body) {
  for (const nlohmann::json& combination : run.spec.at("combinations")) {
    try {
      body(combination);
    } catch (const std::exception& error) {
      throw std::runtime_error("combination " + combination.at("number").dump() + ": " +
                               error.what());
    }
  }
}

at::Tensor load(const std::filesystem::path& path, at::ScalarType type,
                const std::vector<std::int64_t>& shape) {
  at::Tensor tensor = at::empty(shape, type);
  const auto bytes = static_cast<std::streamsize>(tensor.nbytes());
  std::ifstream file(path, std::ios::binary);
  if (!file.read(static_cast<char*>(tensor.data_ptr()), bytes) ||
      file.peek() != std::ifstream::traits_type::eof()) {
    throw std::runtime_error(path.string() + ": does not hold " + std::to_string(bytes) +
                             " bytes, or cannot be read");
  }
  return tensor;
}

at::Tensor loadAll(const std::filesystem::path& path, at::ScalarType type) {
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  return load(path, type, {bytes / static_cast<std::int64_t>(c10::elementSize(type))});
}

void append(const at::Tensor& tensor, std::vector<double>& out) {
  const at::Tensor flat = tensor.detach().to(at::kCPU, at::kDouble).reshape({-1}).contiguous();
  out.insert(out.end(), flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
}

}  // namespace lockstep::conformance
