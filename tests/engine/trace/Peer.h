#pragma once

#include <sys/types.h>

#include <string>

namespace lockstep::trace {

/// A running trace_peer (TracePeer.cpp): another process that writes a run file or emits
/// events, one command at a time.
class Peer {
 public:
  /// Starts it and waits until it is ready. `keepFd` is inherited.
  Peer(const std::string& mode, const std::string& argument, int keepFd = -1);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Sends one command and waits for its end.
  void command(const std::string& line);

  /// Ends it by SIGKILL; it stays a zombie until the Peer is gone.
  void kill();

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  void expectOk();

  pid_t pid_ = -1;
  int toPeer_ = -1;
  int fromPeer_ = -1;
};

}  // namespace lockstep::trace
