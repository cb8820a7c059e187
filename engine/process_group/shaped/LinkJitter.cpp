#include "engine/process_group/shaped/LinkJitter.h"

#include "engine/process_group/Call.h"

namespace lockstep::process_group {

std::int64_t LinkJitter::ns(std::uint64_t stream, std::uint64_t number) const {
  if (jitterUs_ <= 0) {
    return 0;
  }
  constexpr double kNsPerUs = 1000;
  // A function of seed, stream and number alone: all ranks of a collective draw the same, in
  // whatever order they ask.
  const std::uint64_t bits = mix(mix(mix(0, seed_), stream), number);
  const double part = static_cast<double>(bits >> 11) * 0x1.0p-53;  // [0, 1)
  return static_cast<std::int64_t>(part * jitterUs_ * kNsPerUs);
}

}  // namespace lockstep::process_group
