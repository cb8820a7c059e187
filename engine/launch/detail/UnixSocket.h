#pragma once

#include <sys/un.h>

#include <filesystem>
#include <optional>

namespace lockstep::launch::detail {

/// Returns the address of a socket at `path`, or nothing when the path is too long for one.
std::optional<sockaddr_un> unixAddress(const std::filesystem::path& path);

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
