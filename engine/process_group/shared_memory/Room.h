#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace lockstep::process_group::shared_memory {

/// Says in a sentence why this process should not reserve `bytes` more now; empty when nothing
/// speaks against it. The kernel itself would not refuse: it would kill somebody for memory.
[[nodiscard]] std::string whyNoRoom(std::uint64_t bytes);

inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// What a control group of version 2, "/system.slice/job", may still take: the least that is left
/// to it or to one that it lies in; kUnlimited where none has a limit. `root`: where they are
/// mounted.
[[nodiscard]] std::uint64_t freeInControlGroup(const std::string& root, std::string group);

}  // namespace lockstep::process_group::shared_memory
