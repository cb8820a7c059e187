#include "engine/ddp/TensorText.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lockstep::ddp {

std::string dtypeName(at::ScalarType type) {
  switch (type) {
    case at::kByte:
      return "uint8";
    case at::kChar:
      return "int8";
    case at::kShort:
      return "int16";
    case at::kInt:
      return "int32";
    case at::kLong:
      return "int64";
    case at::kHalf:
      return "float16";
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kComplexFloat:
      return "complex64";
    case at::kComplexDouble:
      return "complex128";
    case at::kBool:
      return "bool";
    case at::kBFloat16:
      return "bfloat16";
    default:
      return c10::toString(type);
  }
}

std::string describe(const at::Tensor& tensor) {
  return fmt::format("{} [{}]", dtypeName(tensor.scalar_type()), fmt::join(tensor.sizes(), ", "));
}

std::string quoted(const std::string& name, std::size_t index) {
  return fmt::format("'{}' ({})", name, index);
}

std::string listed(const std::vector<std::string>& texts, std::size_t most) {
  const auto end = texts.begin() + static_cast<std::ptrdiff_t>(std::min(texts.size(), most));
  std::string line = fmt::format("{}", fmt::join(texts.begin(), end, ", "));
  if (texts.size() > most) {
    line += fmt::format(" and {} more", texts.size() - most);
  }
  return line;
}

}  // namespace lockstep::ddp
