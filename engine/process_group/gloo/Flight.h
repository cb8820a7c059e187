#pragma once

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/process_group/gloo/Transport.h"
#include "engine/process_group/operation/NoticedCall.h"
#include "engine/process_group/operation/Staging.h"
#include "engine/trace/Tracer.h"

namespace lockstep::process_group::gloo {

/// Thrown where the connection to `peer` fails.
struct PeerLost {
  int peer;
  std::string lower;  ///< Gloo's text
};

/// An open call with what it moves. Buffers in use are enlisted, so that any thread can end its
/// waits.
class Flight final : public NoticedCall {
 public:
  /// Messages are counted by `wire`.
  Flight(Call call, std::chrono::milliseconds limit, const Transport& transport,
         const Member& member, trace::Tracer& wire);

  const int rank;
  const int size;
  trace::Tracer& wire;

  /// Not in a group of one.
  [[nodiscard]] ::gloo::Context& context() const { return *context_; }

  /// Returns Gloo's name for the messages of this operation. It holds the sequence number and
  /// the call's fingerprint: see Note [Mismatched calls]. Up to four lanes keep the messages
  /// of an operation's phases apart; `extra` is for what only a pair of ranks agrees on.
  [[nodiscard]] std::uint64_t slot(unsigned lane, std::uint64_t extra = 0) const;

  // For channels.
  void enlist(::gloo::transport::UnboundBuffer* buffer);
  void delist(::gloo::transport::UnboundBuffer* buffer);

 private:
  void interrupt() override;

  ::gloo::Context* const context_;
  const std::uint64_t fingerprint_;
  std::vector<::gloo::transport::UnboundBuffer*> buffers_;
};

using FlightPtr = std::shared_ptr<Flight>;

/// Messages of one operation with one peer, out of or into one block of memory. Messages of a
/// slot arrive in the order they were sent; each must be received with the size it was sent
/// with. Waits end by the flight's failure only: its time limit is kept by the Dispatcher.
class Channel {
 public:
  Channel(Flight& flight, int peer, std::uint64_t slot, Block block);
  ~Channel() { flight_.delist(buffer_.get()); }
  Channel(Channel&&) = default;

  /// Starts to send or receive; [offset, offset + bytes) must stay untouched until finished.
  void send(std::size_t offset, std::size_t bytes);
  void receive(std::size_t offset, std::size_t bytes);
  /// Wait for one started send or receive each; throw PeerLost or Interrupted.
  void finishSend() { finish(true); }
  void finishReceive() { finish(false); }

 private:
  void finish(bool sending);
  template <typename Function>
  void guarded(Function function);

  Flight& flight_;
  const int peer_;
  const std::uint64_t slot_;
  std::unique_ptr<::gloo::transport::UnboundBuffer> buffer_;
};

}  // namespace lockstep::process_group::gloo
