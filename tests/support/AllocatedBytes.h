#pragma once

#include <cstddef>

namespace lockstep::support {

/// Returns how many bytes this process has asked `new` for so far, on all threads: what something
/// costs in them is the same on every machine, however busy.
std::size_t allocatedBytes();

}  // namespace lockstep::support
