#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::exports {

// The exports append their JSON a field at a time, where all else is nlohmann's: a library that
// builds an object first takes a µs for a span that is written in 0.1 µs here, and exports have
// millions of them.

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
