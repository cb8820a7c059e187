#include "engine/base/NumberText.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace lockstep::base {
namespace {

/// Decimals that make three digits of a number.
int decimalsOf(double magnitude) {
  return magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
}

}  // namespace

std::string bytesText(double bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  double scaled = bytes;
  // 1023.6 would round to 1024 of a unit: take the next one up.
  while (std::abs(scaled) >= 1023.5 && unit + 1 < kUnits.size()) {
    scaled /= 1024;
    ++unit;
  }
  const bool whole = unit == 0 || scaled == std::round(scaled);
  return fmt::format("{:.{}f} {}", scaled, whole ? 0 : decimalsOf(std::abs(scaled)), kUnits[unit]);
}

std::string durationText(double ns) {
  constexpr std::array<std::pair<double, const char*>, 3> kUnits{
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}}};
  for (const auto& [size, name] : kUnits) {
    // 999.6 of a unit would round to 1000 of it: take the next one up.
    if (std::abs(ns) >= 0.9995 * size) {
      return fmt::format("{:.{}f} {}", ns / size, decimalsOf(std::abs(ns / size)), name);
    }
  }
  return fmt::format("{:.0f} ns", std::abs(ns) < 0.9995 ? 0 : ns);
}

std::string msText(double ms) {
  const double magnitude = std::abs(ms);
  const int decimals = magnitude == 0        ? 0
                       : magnitude < 0.00995 ? 4
                       : magnitude < 0.0995  ? 3
                       : magnitude < 99.95   ? 2
                                             : 1;
  return fmt::format("{:.{}f}", ms, decimals);
}

std::string msRangeText(double lowMs, double highMs) {
  return fmt::format("{} to {}", msText(lowMs), msText(highMs));
}

std::string percentText(double percent, int decimals) {
  return fmt::format("{:.{}f} %", percent, decimals);
}

std::string percentRangeText(double percent, double low, double high) {
  return fmt::format("{} ({:.0f} to {})", percentText(percent, 0), low, percentText(high, 0));
}

std::string countText(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3; at -= 3) {
    digits.insert(at - 3, 1, ',');
  }
  return digits;
}

std::string countedText(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}{}", countText(count), count == 1 || many.empty() ? one : many,
                     count == 1 || !many.empty() ? "" : "s");
}

std::string numberedText(std::string_view noun, const std::vector<int>& numbers, std::size_t most) {
  const auto end = numbers.begin() + static_cast<std::ptrdiff_t>(std::min(most, numbers.size()));
  return fmt::format(
      "{}{} {}{}", noun, numbers.size() == 1 ? "" : "s", fmt::join(numbers.begin(), end, ", "),
      numbers.size() > most ? fmt::format(" and {} more", numbers.size() - most) : "");
}

std::string ranksText(const std::vector<int>& ranks, std::size_t most) {
  return numberedText("rank", ranks, most);
}

}  // namespace lockstep::base
