#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/base/posix/Descriptor.h"
#include "engine/base/posix/WakeUp.h"
#include "engine/process_group/Joining.h"
#include "engine/process_group/operation/Matching.h"
#include "engine/store/Store.h"

namespace lockstep::process_group::shared_memory {

/// What ranks tell each other beside the board.
struct Message {
  enum class Kind : std::uint32_t {
    kBoard = 1,  ///< here is the board: file, bytes
    kSegment,    ///< a segment that is about to be used: file, id, bytes
    kGone,       ///< a segment that is not used any more: id
    kGaveUp,     ///< this rank has broken the group: peer, text in body
    kLeaving,    ///< this rank has done all it was called for and ends its part
    kOffer,      ///< a send: see PointToPoint.h
    kAccepted,
    kRefused,
  };
  /// Travels as it is.
  struct Header {
    Kind kind = Kind::kLeaving;
    std::uint32_t tag = 0;
    std::uint64_t id = 0;
    std::uint64_t bytes = 0;
    Content content;
    std::uint64_t segment = 0;
    std::uint64_t offset = 0;
    std::int32_t peer = -1;
  };
  static constexpr std::size_t kMostBody = 64 * 1024;

  Header header;
  std::vector<std::byte> body;  ///< at most kMostBody
  posix::Descriptor file;
};

/// The sockets of one rank to all others of its group. They carry what is rare (the files of
/// segments, reasons, small messages of send), and tell at once when a process ends, since the
/// kernel closes its sockets. One connection keeps the order of its messages.
class Mesh {
 public:
  struct Options : Joiner {
    std::string host;  ///< hostKey(), but in tests
  };

  /// Meets the other ranks through `store` and connects with each. Blocks until all have come;
  /// the error names the ranks that did not, ranks on other hosts or of other users, or a rank
  /// that came twice.
  static base::Result<std::unique_ptr<Mesh>> connect(store::Store& store, const Options& options);

  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  /// Sends without blocking: what the socket does not take at once is kept and goes out in
  /// poll(). Returns false when the connection is gone. [any-thread]
  bool send(int rank, Message message);
  /// The same to all other ranks; `file` is copied for each, -1 for none.
  void sendToAll(const Message::Header& header, const std::string& text = {}, int file = -1);

  /// Waits for the next message of one rank, until `deadline`; nothing when none comes or the
  /// connection ends. Before poll() is used.
  std::unique_ptr<Message> receive(int rank, std::chrono::steady_clock::time_point deadline);

  struct Handlers {
    std::function<void(int rank, Message message)> arrived;
    /// The connection is gone; `nonsense` when it was closed here for what came.
    std::function<void(int rank, bool nonsense)> ended;
  };
  /// Waits for messages, at most so long, and handles those that have come. One thread.
  void poll(std::chrono::milliseconds longest, const Handlers& handlers);
  /// Ends the poll, or the next one. [any-thread]
  void wake();

  /// Gives what was kept back a last chance of so long to go out.
  void flush(std::chrono::milliseconds longest);
  /// Ends all connections: the others find that this rank is gone. Sending fails from now on.
  void close();

 private:
  struct Link {
    posix::Descriptor socket;
    std::mutex mutex;
    std::deque<Message> waiting;  // under it: not yet taken by the socket
    std::atomic<bool> ended{false};
  };
  enum class Sent { kAll, kFull, kBroken };

  Mesh(int rank, int size);
  static Sent write(const Link& link, const Message& message);
  void sendWaiting(Link& link);
  enum class Got { kMessage, kNothing, kEnd, kNonsense };
  Got read(const Link& link, Message& message);

  friend class Meeting;

  const int rank_;
  std::vector<std::unique_ptr<Link>> links_;  // by rank; this rank's has no socket
  std::vector<std::byte> room_;               // for the body of the next message
  posix::WakeUp wake_;
};

}  // namespace lockstep::process_group::shared_memory
