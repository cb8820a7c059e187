#pragma once

#include <sys/un.h>

#include <filesystem>
#include <optional>

#include "engine/base/Result.h"

namespace lockstep::launch::detail {

/// Returns the address of a socket at `path`, or nothing when the path is too long for one.
std::optional<sockaddr_un> unixAddress(const std::filesystem::path& path);

/// Makes the folder of sockets, for this user alone, unless it is there; removes sockets from it at
/// which nobody listens any more. Error (kEnvironment): others can enter it, or it is none.
base::Status prepareSocketFolder(const std::filesystem::path& directory);

/// Connects to the socket at `path` without blocking; returns the descriptor (close-on-exec,
/// non-blocking) or the negative errno: -ECONNREFUSED when nobody listens there any more.
int connectUnix(const std::filesystem::path& path);

/// Makes a socket at `path`, for this user alone, that listens; returns the descriptor
/// (close-on-exec, non-blocking) or the negative errno. It gets its name once it listens: before,
/// others would be refused there and take it for that of a process that has died.
int listenUnix(const std::filesystem::path& path, int waiting);

/// Returns whether the process at the other end runs as this user.
bool peerIsThisUser(int fd);

}  // namespace lockstep::launch::detail
