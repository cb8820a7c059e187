#pragma once

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/process_group/Call.h"
#include "engine/process_group/Failure.h"
#include "engine/process_group/NoticeBoard.h"
#include "engine/process_group/WorkState.h"

namespace lockstep::process_group::gloo {

/// Thrown where the connection to `peer` fails.
struct PeerLost {
  int peer;
  std::string lower;  ///< Gloo's text
};

/// Cuts the source location from a text of Gloo's.
[[nodiscard]] std::string withoutLocation(const std::string& text);

/// One operation of a group, from the call to its end. Buffers in use are enlisted, so that any
/// thread can end its waits.
class Flight {
 public:
  using Clock = std::chrono::steady_clock;

  /// `context` is null in a group of one.
  Flight(Call call, CommError::Where where, std::chrono::milliseconds limit,
         ::gloo::Context* context, int rank, int size);

  const Call call;
  const std::chrono::milliseconds limit;
  const Clock::time_point queuedAt = Clock::now();
  const int rank;
  const int size;
  std::shared_ptr<WorkState> work;

  [[nodiscard]] ::gloo::Context& context() const { return *context_; }
  [[nodiscard]] bool expired(Clock::time_point now) const { return now - queuedAt >= limit; }

  /// Returns Gloo's name for the messages of this operation. It holds the sequence number and
  /// the call's fingerprint: see Note [Mismatched calls]. Up to four lanes keep the messages
  /// of an operation's phases apart; `extra` is for what only a pair of ranks agrees on.
  [[nodiscard]] std::uint64_t slot(unsigned lane, std::uint64_t extra = 0) const;

  /// Ends the operation with `failure`, unless it has failed already, and wakes whoever waits
  /// in it. Returns whether it was the first. [any-thread]
  bool fail(Failure failure);
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  [[nodiscard]] Failure failure() const;
  /// The failure as a CommError.
  [[nodiscard]] std::exception_ptr error() const;
  [[nodiscard]] const CommError::Where& where() const { return where_; }

  /// The peer a thread is waiting for, or -1. [any-thread]
  [[nodiscard]] int waitingPeer() const { return waitingPeer_.load(std::memory_order_relaxed); }
  /// "waiting for data from rank 1", or "still in the queue", or nothing. [any-thread]
  [[nodiscard]] std::string waitingFor() const;
  void setStarted() { started_.store(true, std::memory_order_relaxed); }

  /// What the notice board answered last, if it has been asked about this operation and did.
  /// [any-thread]
  void setTold(Told told);
  [[nodiscard]] std::optional<Told> told() const;

  // For channels.
  void enlist(::gloo::transport::UnboundBuffer* buffer);
  void delist(::gloo::transport::UnboundBuffer* buffer);
  void setWaiting(int peer, bool sending) {
    waitingToSend_.store(sending, std::memory_order_relaxed);
    waitingPeer_.store(peer, std::memory_order_relaxed);
  }
  std::uint64_t sentBytes = 0;
  std::uint64_t sentMessages = 0;
  std::uint64_t receivedBytes = 0;

  std::uint64_t order = 0;      ///< of the call in its group; the Dispatcher's own
  bool ended = false;           ///< under the Dispatcher's mutex
  std::atomic<bool> abandoned{false};  ///< a send or receive without a limit: see Work::abort()
  Clock::time_point askedAt{};  ///< when the watch last asked about it; the watch's own
  std::atomic<bool> asked{false};   ///< it stands on the notice board
  std::atomic<bool> placed{false};  ///< there as the place where this rank is, too

 private:
  const CommError::Where where_;
  ::gloo::Context* const context_;
  const std::uint64_t fingerprint_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> started_{false};
  std::atomic<int> waitingPeer_{-1};
  std::atomic<bool> waitingToSend_{false};
  mutable std::mutex mutex_;
  Failure failure_;
  std::vector<::gloo::transport::UnboundBuffer*> buffers_;
  std::optional<Told> told_;
};

/// Messages of one operation with one peer, out of and into one block of memory. Messages of a
/// slot arrive in the order they were sent; each must be received with the size it was sent
/// with. Waits end by the flight's failure only: its time limit is kept by the Dispatcher.
class Channel {
 public:
  Channel(Flight& flight, int peer, std::uint64_t slot, void* data, std::size_t bytes);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Starts to send or receive; [offset, offset + bytes) must stay untouched until finished.
  void send(std::size_t offset, std::size_t bytes);
  void receive(std::size_t offset, std::size_t bytes);
  /// Wait for one started send or receive each; throw PeerLost or Interrupted.
  void finishSend();
  void finishReceive();

 private:
  template <typename Function>
  void guarded(Function function);

  Flight& flight_;
  const int peer_;
  const std::uint64_t slot_;
  std::unique_ptr<::gloo::transport::UnboundBuffer> buffer_;
};

}  // namespace lockstep::process_group::gloo
