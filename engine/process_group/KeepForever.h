#pragma once

#include <memory>

namespace lockstep::process_group {

/// Keeps `what`, an operation that failed, until the process ends: a device or a library may read
/// and write its memory at any time, and it cannot be told whether it is done. [any-thread]
void keepForever(std::shared_ptr<const void> what);

}  // namespace lockstep::process_group
