#pragma once

#include <sys/un.h>

#include <filesystem>
#include <optional>

#include "engine/base/Result.h"
#include "engine/base/posix/Descriptor.h"

namespace lockstep::launch::detail {

/// Returns the address of a socket at `path`, or nothing when the path is too long for one.
std::optional<sockaddr_un> unixAddress(const std::filesystem::path& path);

/// Makes the folder of sockets, for this user alone, unless it is there; removes sockets from it at
/// which nobody listens any more. Error (kEnvironment): others can enter it, or it is none.
base::Status prepareSocketFolder(const std::filesystem::path& directory);

/// Connects to the socket at `path` without blocking; close-on-exec and non-blocking. Not open
/// where that fails, and errno says why: ECONNREFUSED when nobody listens there any more.
posix::Descriptor connectUnix(const std::filesystem::path& path);

/// Makes a socket at `path`, for this user alone, that listens; close-on-exec and non-blocking. Not
/// open where that fails, and errno says why. It gets its name once it listens: before, others
/// would be refused there and take it for that of a process that has died.
posix::Descriptor listenUnix(const std::filesystem::path& path, int waiting);

/// Returns whether the process at the other end runs as this user.
bool peerIsThisUser(int fd);

}  // namespace lockstep::launch::detail
