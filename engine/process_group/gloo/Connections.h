#pragma once

#include <chrono>
#include <map>

namespace lockstep::process_group::gloo {

/// Sockets of this process, by inode, which no other socket has in its lifetime. Gloo keeps those
/// of its connections to itself: they are what is there after it has connected and was not before,
/// with those that others opened meanwhile.
using Connections = std::map<unsigned long, int>;

/// All that are open now, but for `others`.
[[nodiscard]] Connections openConnections(const Connections& others = {});

/// Waits until the peers' hosts have acknowledged all that was sent over those that are TCP
/// connections and still open. [any-thread]
void awaitDelivery(const Connections& connections, std::chrono::milliseconds atMost);

}  // namespace lockstep::process_group::gloo
