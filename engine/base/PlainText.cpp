#include "engine/base/PlainText.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockstep::base {
namespace {

/// Bytes of the character of UTF-8 that a text begins with; 0 where it begins with none.
std::size_t characterBytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = first < 0x80             ? 1
                            : (first & 0xE0) == 0xC0 ? 2
                            : (first & 0xF0) == 0xE0 ? 3
                            : (first & 0xF8) == 0xF0 ? 4
                                                     : 0;
  if (bytes > text.size()) {
    return 0;
  }
  std::uint32_t character = bytes == 1 ? first : first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) {
      return 0;
    }
    character = character << 6 | (next & 0x3FU);
  }
  // One that fewer bytes would do for is none: a reader who takes it sees a control character.
  constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  const bool isSurrogate = character >= 0xD800 && character < 0xE000;
  return character < kLeast.at(bytes) || isSurrogate || character > 0x10FFFF ? 0 : bytes;
}

/// Of ASCII (below a space, delete) and of Unicode's second block of them (U+0080 to U+009F).
bool isControl(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) {
    return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7F;
  }
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace

std::string plainText(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = characterBytes(text);
    const std::string_view character = text.substr(0, bytes == 0 ? 1 : bytes);
    if (bytes == 0 || isControl(character)) {
      for (const char byte : character) {
        plain += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    } else {
      plain += character;
    }
    text.remove_prefix(character.size());
  }
  return plain;
}

std::string lastLine(std::string_view text) {
  const std::string_view lines = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  return std::string(lines.substr(lines.find_last_of('\n') + 1));
}

}  // namespace lockstep::base
