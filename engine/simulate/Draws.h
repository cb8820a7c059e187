#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace lockstep::simulate {

/// Random numbers of one simulated rank: SplitMix64 (Steele, Lea, Flood 2014). Each rank has a
/// stream of its own, so that rank 7 draws the same among 8 ranks and among 4096, and the same on
/// every machine.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t stream) : state_(seed) {
    state_ = next() ^ (stream * 0xD1342543DE82EF95ULL);
    next();
  }

  /// Between 0 and 1, never either.
  double part() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1.0p-53; }

  /// A number below `count`.
  std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(part() * static_cast<double>(count));
  }

  /// Of mean 0 and variance 1 (Box, Muller 1958).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(part()));
    return radius * std::cos(2 * std::numbers::pi * part());
  }

 private:
  std::uint64_t next() {
    std::uint64_t bits = state_ += 0x9E3779B97F4A7C15ULL;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
    return bits ^ (bits >> 31);
  }

  std::uint64_t state_;
};

}  // namespace lockstep::simulate
