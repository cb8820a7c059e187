#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::exports {

/// Appends a JSON string with its quotes. Whatever `text` holds, what is appended is valid UTF-8:
/// bytes that are none become U+FFFD.
void appendQuoted(std::string& out, std::string_view text);

/// Appends text as valid UTF-8: bytes that are none become U+FFFD, NUL is left out.
void appendText(std::string& out, std::string_view text);

/// Appends a whole number.
void appendNumber(std::string& out, std::int64_t number);

/// Appends nanoseconds, not negative, as microseconds with three decimals; with a fourth where the
/// double nearest to three, times 1000 and cut, would be a nanosecond less.
void appendMicroseconds(std::string& out, std::int64_t ns);

/// Appends a finite number so that it is read back as the same; in no locale but the plain one.
void appendReal(std::string& out, double number);

}  // namespace lockstep::exports
