#pragma once

#include <chrono>

namespace lockstep::process_group {

/// How long the end of a group waits for what is in flight.
inline constexpr std::chrono::milliseconds kDrain = std::chrono::seconds(5);

/// What fails what is left then.
inline constexpr const char* kDestroyed = "the process group was destroyed before it was done";

}  // namespace lockstep::process_group
