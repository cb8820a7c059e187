#pragma once

#include <cstdint>

namespace lockstep::trace {

/// Bit of the detail of forward, backward, optimizer, wait, copy_in, copy_out, finalize,
/// bucket_ready, bucket_launched and the phases of hooks: the times are of the device that did it,
/// and do not say what the host did then.
inline constexpr std::uint16_t kByDevice = 0x8000;

}  // namespace lockstep::trace
