#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace lockstep::base {

/// Returns the number that all of the text is; `base` only for whole numbers.
template <typename Number, typename... Base>
std::optional<Number> readNumber(std::string_view text, Base... base) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base...);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace lockstep::base
