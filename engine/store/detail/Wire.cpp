#include "engine/store/detail/Wire.h"

namespace lockstep::store::detail {

void WireWriter::number(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    u8(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

void WireWriter::text(std::string_view value) {
  u32(static_cast<std::uint32_t>(value.size()));
  target_ += value;
}

void WireWriter::texts(const std::vector<std::string>& values) {
  u32(static_cast<std::uint32_t>(values.size()));
  for (const std::string& value : values) {
    text(value);
  }
}

std::optional<std::string_view> WireReader::bytes(std::size_t count) {
  if (count > source_.size()) {
    source_ = {};
    return std::nullopt;
  }
  const std::string_view taken = source_.substr(0, count);
  source_.remove_prefix(count);
  return taken;
}

std::optional<std::uint64_t> WireReader::number(int count) {
  const auto taken = bytes(static_cast<std::size_t>(count));
  if (!taken) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  for (int i = count; i-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>((*taken)[static_cast<std::size_t>(i)]);
  }
  return value;
}

std::optional<std::uint8_t> WireReader::u8() {
  const auto value = number(1);
  return value ? std::optional(static_cast<std::uint8_t>(*value)) : std::nullopt;
}

std::optional<std::uint32_t> WireReader::u32() {
  const auto value = number(4);
  return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
}

std::optional<std::int64_t> WireReader::i64() {
  const auto value = number(8);
  return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
}

std::optional<std::string> WireReader::text(std::size_t longest) {
  const auto size = u32();
  if (!size || *size > longest) {
    return std::nullopt;
  }
  const auto taken = bytes(*size);
  return taken ? std::optional<std::string>(*taken) : std::nullopt;
}

std::optional<std::vector<std::string>> WireReader::texts() {
  const auto count = u32();
  if (!count || *count > kMostKeys) {
    return std::nullopt;
  }
  std::vector<std::string> result;
  for (std::uint32_t i = 0; i < *count; ++i) {
    auto value = text(kLongestKey);
    if (!value) {
      return std::nullopt;
    }
    result.push_back(std::move(*value));
  }
  return result;
}

std::string framed(std::string_view content) {
  std::string frame;
  frame.reserve(content.size() + 4);
  WireWriter(frame).u32(static_cast<std::uint32_t>(content.size()));
  return frame.append(content);
}

}  // namespace lockstep::store::detail
