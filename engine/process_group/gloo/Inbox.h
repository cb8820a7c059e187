#pragma once

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/process_group/operation/Matching.h"

namespace lockstep::process_group::gloo {

/// Data that travels with the message that announces it, at most. To copy this much twice costs
/// about as much as to wake one thread, of which a transfer of its own needs three more.
inline constexpr std::size_t kInlineBytes = 64 * 1024;

/// Gloo's name for the messages that announce sends and answer them.
inline constexpr std::uint64_t kControlSlot = std::uint64_t{3} << 60;

/// What opens such a message; `inlineBytes` of data follow it. Sent as it is.
struct ControlHeader {
  enum class Kind : std::uint32_t { kOffer = 1, kAccepted = 2, kRefused = 3 };
  Kind kind = Kind::kOffer;
  std::uint32_t tag = 0;
  std::uint64_t id = 0;  ///< the sender's number of the message
  Content content;
  std::uint32_t received = 0;  ///< messages that came the other way so far
  std::uint32_t inlineBytes = 0;
};
static_assert(sizeof(ControlHeader) == 40);

/// Memory that Gloo reads or writes.
struct Parcel {
  Parcel(::gloo::Context& context, std::size_t bytes)
      : memory(std::make_unique_for_overwrite<std::byte[]>(bytes)),
        buffer(context.createUnboundBuffer(memory.get(), bytes)) {}

  std::unique_ptr<std::byte[]> memory;
  std::unique_ptr<::gloo::transport::UnboundBuffer> buffer;  // goes first
  bool posted = false;                                       ///< of an inbox: it may be filled
};

/// A message that has come.
struct Arrived {
  ControlHeader header;
  const std::byte* data = nullptr;  ///< header.inlineBytes; until the inbox's next wait()
  std::vector<std::byte> kept;      ///< which is at `data` where it must stay longer
  int source = -1;
};

/// Where the messages of some ranks arrive. A rank that has an inbox for itself may send without
/// asking, as long as this side is less than four messages behind; ranks that share one are
/// asked for each message when they have announced it, which wakes two more threads.
class Inbox {
 public:
  Inbox(::gloo::Context& context, std::vector<int> sources);

  [[nodiscard]] const std::vector<int>& sources() const { return sources_; }

  /// Blocks until a message comes, which it returns, or until wake(). Throws what Gloo throws when
  /// a connection is broken, once all that came before is taken. One thread waits.
  std::optional<Arrived> wait();

  /// Ends the wait, or the next one; maybe some more. [any-thread]
  void wake();

 private:
  const std::vector<int> sources_;
  std::vector<Parcel> areas_;  // filled in turns: a rank's messages come in the order of the posts
  std::size_t next_ = 0;
};

}  // namespace lockstep::process_group::gloo
