#pragma once

#include <chrono>
#include <map>

namespace lockstep::process_group::gloo {

/// Connected TCP sockets of this process. Gloo keeps those of its connections to itself: they are
/// what is there after it has connected and was not before, with those that others opened
/// meanwhile.
class Connections {
 public:
  /// All that are open now.
  static Connections open();
  /// These but for `others`.
  [[nodiscard]] Connections without(const Connections& others) const;

  /// Waits until the peers' hosts have acknowledged all that was sent over those that are still
  /// open. [any-thread]
  void awaitDelivery(std::chrono::milliseconds atMost) const;

 private:
  std::map<unsigned long, int> descriptors_;  // by inode, which no other socket has in its lifetime
};

}  // namespace lockstep::process_group::gloo
