#include "engine/export/JsonText.h"

#include <fmt/format.h>

#include <iterator>

#include "engine/base/Check.h"

namespace lockstep::exports {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Returns the length of the UTF-8 sequence at the front of `text`, 0 when it is none: cut off,
/// longer than it needs to be, a surrogate, or beyond U+10FFFF.
std::size_t sequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  // By RFC 3629: C0, C1 and F5 to FF begin no character, 80 to BF only continue one.
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length > text.size()) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return 0;
    }
  }
  if (length < 3) {
    return length;
  }
  const unsigned char second = byte(1);
  // In turn: three bytes for what takes two; surrogates; four bytes for what takes three; beyond
  // U+10FFFF.
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
  return wrong ? 0 : length;
}

void appendEscaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

}  // namespace

void appendQuoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = sequenceLength(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (length == 0) {
      out += kReplacement;
    } else if (first < 0x20 || first == 0x7F || first == '"' || first == '\\') {
      appendEscaped(out, text.front());
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

void appendText(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequenceLength(text);
    if (length == 0) {
      out += kReplacement;
    } else if (text.front() != '\0') {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

void appendNumber(std::string& out, std::int64_t number) {
  const fmt::format_int text(number);
  out.append(text.data(), text.size());
}

void appendMicroseconds(std::string& out, std::int64_t ns) {
  LOCKSTEP_CHECK(ns >= 0, "{} ns before the begin of an export", -ns);
  appendNumber(out, ns / 1000);
  const auto rest = static_cast<int>(ns % 1000);
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100),
                           static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  out.append(decimals, sizeof decimals);
  // What a reader does with a double of µs. A 1 after the three decimals lifts it over the edge.
  if (static_cast<std::int64_t>(static_cast<double>(ns) / 1000.0 * 1000.0) < ns) {
    out += '1';
  }
}

void appendReal(std::string& out, double number) {
  fmt::format_to(std::back_inserter(out), "{}", number);
}

}  // namespace lockstep::exports
