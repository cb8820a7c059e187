#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace lockstep::trace {

/// Returns an opaque text that tells process `pid` of this host from every other that had or
/// will have its number (boot and start time), or "" when no such process runs. A process
/// that ended and was not waited for yet does not run. [any-thread]
std::string processStart(std::int64_t pid);

/// Returns this host's name as RunInfo::hostName holds it. [any-thread]
std::string hostName();

/// Names the host as far as its clock and its network reach: processes with equal texts read the
/// same ticks and the same monotonic time, and are reached at the same addresses. It is made of the
/// kernel's boot id and of the namespaces of network and time. [any-thread]
std::string hostIdentity();

/// Names the space of process ids that this process lives in: where the texts are equal, one id
/// means one process. It is made of the kernel's boot id and of the namespace of processes.
/// [any-thread]
std::string processSpace();

/// Returns the name of the network file system that `path` lies on ("nfs"), or "" for a local
/// one or when that cannot be found out. [any-thread]
std::string networkFileSystemOf(const std::filesystem::path& path);

/// Names the network file system with this statfs(2) magic number, or "".
std::string networkFileSystemName(std::int64_t magic);

}  // namespace lockstep::trace
