#include "engine/process_group/gloo/Flight.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/process_group/gloo/Wait.h"

namespace lockstep::process_group::gloo {
namespace {

// Gloo closes the connections of all ranks when one of its own time limits passes, so it gets
// one that never does.
constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);

// Note [Mismatched calls]
// Gloo ends the process, on its own thread, when a message is longer than the block it was to
// be received into. So messages carry their call in their name: a slot is
//
//   1 (4 bits) | sequence number (24) | fingerprint of the call (34) | lane (2)
//
// and calls that differ in operation, size, dtype, reduction or root never exchange a byte.
// Both sides then wait, the watch asks the notice board what the others called, and the error
// names the ranks and their calls. This costs nothing on the way of the data.
constexpr std::uint64_t kCollectiveSlots = 1;

}  // namespace

std::string withoutLocation(const std::string& text) {
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find("] ");
    if (end != std::string::npos && text.find(':') < end) {
      return text.substr(end + 2);
    }
  }
  return text;
}

Flight::Flight(Call call, std::chrono::milliseconds limit, ::gloo::Context* context, int rank,
               int size)
    : NoticedCall(std::move(call), limit),
      rank(rank),
      size(size),
      context_(context),
      fingerprint_(fingerprint(this->call)) {}

std::uint64_t Flight::slot(unsigned lane, std::uint64_t extra) const {
  const std::uint64_t hash = extra == 0 ? fingerprint_ : mix(fingerprint_, extra);
  return kCollectiveSlots << 60 | (call.sequence & 0xFFFFFF) << 36 | hash >> 30 << 2 | (lane & 3);
}

void Flight::interrupt() {
  for (auto* buffer : buffers_) {
    buffer->abortWaitRecv();
    buffer->abortWaitSend();
  }
}

std::string Flight::waitingFor() const {
  const int peer = waitingPeer();
  if (peer >= 0) {
    return waitingToSend_.load(std::memory_order_relaxed)
               ? fmt::format("waiting for rank {} to take data", peer)
               : fmt::format("waiting for data from rank {}", peer);
  }
  return started_.load(std::memory_order_relaxed) ? "" : "still in the queue";
}

void Flight::enlist(::gloo::transport::UnboundBuffer* buffer) {
  std::lock_guard lock(mutex_);
  if (failed()) {
    throw Interrupted{};
  }
  buffers_.push_back(buffer);
}

void Flight::delist(::gloo::transport::UnboundBuffer* buffer) {
  std::lock_guard lock(mutex_);
  std::erase(buffers_, buffer);
}

Channel::Channel(Flight& flight, int peer, std::uint64_t slot, void* data, std::size_t bytes)
    : flight_(flight),
      peer_(peer),
      slot_(slot),
      buffer_(flight.context().createUnboundBuffer(data, bytes)) {
  flight_.enlist(buffer_.get());
}

Channel::~Channel() { flight_.delist(buffer_.get()); }

template <typename Function>
void Channel::guarded(Function function) {
  try {
    function();
  } catch (const std::exception& error) {
    // Gloo's exceptions: the connection is broken, or was closed from this side.
    if (flight_.failed()) {
      throw Interrupted{};
    }
    throw PeerLost{peer_, withoutLocation(error.what())};
  }
}

void Channel::send(std::size_t offset, std::size_t bytes) {
  guarded([&] { buffer_->send(peer_, slot_, offset, bytes); });
  flight_.sentBytes += bytes;
  ++flight_.sentMessages;
}

void Channel::receive(std::size_t offset, std::size_t bytes) {
  guarded([&] { buffer_->recv(peer_, slot_, offset, bytes); });
  flight_.receivedBytes += bytes;
}

void Channel::finishSend() {
  flight_.setWaiting(peer_, true);
  guarded([&] {
    if (!waited([&] { return buffer_->waitSend(nullptr, kForever); })) {
      throw Interrupted{};
    }
  });
  flight_.setWaiting(-1, true);
}

void Channel::finishReceive() {
  flight_.setWaiting(peer_, false);
  guarded([&] {
    if (!waited([&] { return buffer_->waitRecv(nullptr, kForever); })) {
      throw Interrupted{};
    }
  });
  flight_.setWaiting(-1, false);
}

}  // namespace lockstep::process_group::gloo
