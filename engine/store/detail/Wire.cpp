#include "engine/store/detail/Wire.h"

#include <utility>

namespace lockstep::store::detail {

std::optional<std::vector<std::string>> takeKeys(base::ByteReader& reader) {
  const auto count = reader.take<std::uint32_t>();
  if (!count || *count > kMostKeys) {
    return std::nullopt;
  }
  std::vector<std::string> result;
  for (std::uint32_t i = 0; i < *count; ++i) {
    auto key = reader.text(kLongestKey);
    if (!key) {
      return std::nullopt;
    }
    result.push_back(std::move(*key));
  }
  return result;
}

std::string framed(std::string_view content) {
  std::string frame;
  frame.reserve(content.size() + 4);
  base::ByteWriter(frame).text(content);
  return frame;
}

}  // namespace lockstep::store::detail
