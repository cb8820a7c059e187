#include "engine/process_group/gloo/Flight.h"

namespace lockstep::process_group::gloo {
namespace {

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

Flight::Flight(Call call, std::chrono::milliseconds limit, const Transport& transport,
               const Member& member, trace::Tracer& wire)
    : NoticedCall(std::move(call), limit),
      rank(member.rank),
      size(member.size),
      wire(wire),
      context_(transport.context(isDirect(this->call.operation) ? 0 : this->call.sequence)),
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

Channel::Channel(Flight& flight, int peer, std::uint64_t slot, Block block)
    : flight_(flight),
      peer_(peer),
      slot_(slot),
      buffer_(flight.context().createUnboundBuffer(block.data, block.bytes)) {
  flight_.enlist(buffer_.get());
}

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
  flight_.wire.countSent(bytes);
}

void Channel::receive(std::size_t offset, std::size_t bytes) {
  guarded([&] { buffer_->recv(peer_, slot_, offset, bytes); });
  flight_.wire.countReceived(bytes);
}

void Channel::finish(bool sending) {
  flight_.setWaiting(sending ? Flight::Waiting::kTaken : Flight::Waiting::kData, peer_);
  guarded([&] {
    if (!waited([&] {
          return sending ? buffer_->waitSend(nullptr, kForever)
                         : buffer_->waitRecv(nullptr, kForever);
        })) {
      throw Interrupted{};
    }
  });
  flight_.setWaiting(Flight::Waiting::kWorking);
}

}  // namespace lockstep::process_group::gloo
