#include "engine/ddp/TensorText.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace lockstep::ddp {

std::string dtypeName(at::ScalarType type) {
  static const std::map<at::ScalarType, const char*> kNames = {{at::kByte, "uint8"},
                                                               {at::kChar, "int8"},
                                                               {at::kShort, "int16"},
                                                               {at::kInt, "int32"},
                                                               {at::kLong, "int64"},
                                                               {at::kHalf, "float16"},
                                                               {at::kFloat, "float32"},
                                                               {at::kDouble, "float64"},
                                                               {at::kComplexFloat, "complex64"},
                                                               {at::kComplexDouble, "complex128"},
                                                               {at::kBool, "bool"},
                                                               {at::kBFloat16, "bfloat16"}};
  const auto known = kNames.find(type);
  return known == kNames.end() ? c10::toString(type) : known->second;
}

std::optional<at::ScalarType> floatingType(const std::string& name) {
  for (const auto type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    if (dtypeName(type) == name) {
      return type;
    }
  }
  return std::nullopt;
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
