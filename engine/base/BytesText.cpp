#include "engine/base/BytesText.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace lockstep::base {

std::string bytesText(double bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  double scaled = bytes;
  // 1023.6 would round to 1024 of a unit: take the next one up.
  while (std::abs(scaled) >= 1023.5 && unit + 1 < kUnits.size()) {
    scaled /= 1024;
    ++unit;
  }
  const double magnitude = std::abs(scaled);
  const bool whole = unit == 0 || scaled == std::round(scaled);
  const int decimals = whole || magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", scaled, decimals, kUnits[unit]);
}

}  // namespace lockstep::base
