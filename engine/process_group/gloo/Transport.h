#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/base/posix/Connections.h"
#include "engine/process_group/Joining.h"

namespace gloo {
class Context;
}

namespace lockstep::process_group::gloo {

/// Gloo closes the connections of all ranks when one of its own time limits passes, so it gets
/// one that never does.
inline constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);

/// Calls one of an UnboundBuffer's waits, a second time after an exception, and returns what it
/// returns. A peer may leave as soon as it has its part: a wait that wakes up late finds the
/// connection broken before it looks whether its operation is over, while one that begins looks
/// first. [any-thread]
template <typename Wait>
bool waited(Wait wait) {
  try {
    return wait();
  } catch (const std::exception&) {
    return wait();
  }
}

/// Whether a call of Gloo goes through: most exceptions say that a connection is broken, or closed.
template <typename Function>
bool succeeds(Function function) {
  try {
    function();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// Cuts the source location from a text of Gloo's.
[[nodiscard]] std::string withoutLocation(const std::string& text);

/// The connections of one rank with all others: one Gloo context, with its own I/O thread and
/// full mesh of TCP sockets, for each device.
class Transport {
 public:
  /// Meets the other ranks through `store` and connects with each, over network interfaces ("lo",
  /// "eth0") or local addresses; none means GLOO_SOCKET_IFNAME (a comma-separated list), else
  /// 127.0.0.1. Blocks until all have come; the error names the ranks that did not, a rank that
  /// came twice, or the interface.
  static base::Result<std::unique_ptr<Transport>> connect(
      const std::shared_ptr<store::Store>& store, const Joiner& joiner,
      const std::vector<std::string>& interfaces);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Returns a context, taking them in turns; null in a group of one. [any-thread]
  [[nodiscard]] ::gloo::Context* context(std::uint64_t turn) const;

  /// Returns what Gloo says about a broken connection to `peer`, once it has been known here for
  /// this long; nothing while it stands. [any-thread]
  [[nodiscard]] std::optional<std::string> lost(
      int peer, std::chrono::milliseconds knownFor = std::chrono::milliseconds(0));

  /// Whether a peer whose connection is lost had said farewell. [any-thread]
  [[nodiscard]] bool left(int peer);

  /// Tells all peers that this rank leaves in order; takes half a second at most.
  void sayFarewell();

  /// Whether anything has moved over the connections since the last call. [any-thread]
  [[nodiscard]] bool moved();

  /// Closes all connections so that the peers notice; ends no waits here. Before, it waits until
  /// the peers' hosts have what was sent: until nothing of it has moved for half a second, and ten
  /// seconds at most. [any-thread]
  void close();

 private:
  struct Vigil;
  Transport() = default;

  std::vector<std::shared_ptr<::gloo::Context>> contexts_;
  posix::Connections connections_;
  std::atomic<std::uint64_t> movedBytes_ = 0;  // at the last call of moved()
  std::mutex vigilMutex_;
  std::vector<std::unique_ptr<Vigil>> vigils_;
};

}  // namespace lockstep::process_group::gloo
