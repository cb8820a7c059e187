#pragma once

#include <chrono>
#include <cstdint>
#include <map>

namespace lockstep::posix {

/// Sockets of this process, by inode, which no other socket has in its lifetime. Gloo keeps those
/// of its connections to itself: they are what is there after it has connected and was not before,
/// with those that others opened meanwhile.
using Connections = std::map<unsigned long, int>;

/// All that are open now, but for `others`.
[[nodiscard]] Connections openConnections(const Connections& others = {});

/// How many bytes have been read from those that are TCP connections and still open, and how many
/// of those sent the peers' hosts have: a number that grows as long as anything moves. [any-thread]
[[nodiscard]] std::uint64_t movedBytes(const Connections& connections);

/// Waits until the peers' hosts have all that was sent over them, for as long as what they do not
/// have becomes less within `still`, and no longer than `atMost`. [any-thread]
void awaitDelivery(const Connections& connections, std::chrono::milliseconds still,
                   std::chrono::milliseconds atMost);

}  // namespace lockstep::posix
