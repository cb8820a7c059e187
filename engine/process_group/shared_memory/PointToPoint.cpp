#include "engine/process_group/shared_memory/PointToPoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace lockstep::process_group::shared_memory {
namespace {

// Segments that are kept for later sends take this much at most.
constexpr std::uint64_t kSpareBytes = 64u << 20;

}  // namespace

PointToPoint::PointToPoint(std::shared_ptr<Dispatcher> dispatcher, std::shared_ptr<Mesh> mesh,
                           std::shared_ptr<Directory> directory)
    : dispatcher_(std::move(dispatcher)),
      mesh_(std::move(mesh)),
      directory_(std::move(directory)) {}

OperationPtr PointToPoint::start(Call call, at::Tensor tensor, int tag,
                                 std::chrono::milliseconds limit) {
  const OperationPtr operation = dispatcher_->open(std::move(call), {tensor}, limit);
  if (operation->failed()) {
    return operation;
  }
  Direct<Operation> direct(operation, std::move(tensor), tag);
  const Failure failure = direct.sends() ? send(std::move(direct)) : receive(std::move(direct));
  if (!failure.what.empty()) {
    dispatcher_->failOne(*operation, failure);
    dispatcher_->end(operation);
  } else if (operation->failed()) {  // perhaps before it stood among those that are ended
    endFailed();
  }
  return operation;
}

Failure PointToPoint::send(Direct<Operation> direct) {
  const int to = direct.open->call.root;
  Message offer;
  offer.header = offerOf(direct);
  offer.header.bytes = direct.open->call.bytes;
  Outgoing outgoing{std::move(direct), nullptr};
  try {
    layOut(outgoing, offer);
  } catch (const std::exception& error) {
    return Failure{error.what()};
  }
  // With the mutex held, so that the offers of a tag leave in the order of their numbers.
  std::lock_guard lock(mutex_);
  offer.header.id = open_.nextId();
  Failure gone = whyGone(to);
  if (gone.what.empty()) {
    open_.sent(offer.header.id, std::move(outgoing));
    mesh_->send(to, std::move(offer));  // if it cannot be sent, the watch ends the operation
  }
  return gone;
}

// With the mutex held.
Failure PointToPoint::whyGone(int rank) const {
  const auto gone = gone_.find(rank);
  return gone == gone_.end() ? Failure{} : gone->second;
}

// Puts the data into the offer, or says there where it lies.
void PointToPoint::layOut(Outgoing& outgoing, Message& offer) {
  const Flat& flat = outgoing.flat;
  const std::uint64_t bytes = flat.bytes();
  if (bytes <= Message::kMostBody) {
    offer.body.resize(bytes);
    flat.read(0, bytes, offer.body.data());
    return;
  }
  std::shared_ptr<Segment> segment = Segment::holding(flat.at(0), bytes);
  if (segment != nullptr) {
    offer.header.offset = static_cast<std::uint64_t>(flat.at(0) - segment->data());
  } else {
    outgoing.segment = segment = borrow(bytes);
    flat.read(0, bytes, segment->data());
  }
  directory_->announce(*segment);
  offer.header.segment = segment->id();
}

std::shared_ptr<Segment> PointToPoint::borrow(std::uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    const auto fits = std::find_if(spare_.begin(), spare_.end(), [bytes](const auto& segment) {
      // A much larger one would keep memory that others could use.
      return segment->bytes() >= bytes && segment->bytes() / 4 <= bytes;
    });
    if (fits != spare_.end()) {
      std::shared_ptr<Segment> segment = std::move(*fits);
      spare_.erase(fits);
      return segment;
    }
  }
  // Of the next power of two, so that sends of about one size share segments.
  auto made = Segment::create(std::bit_ceil(bytes));
  if (!made.ok()) {
    throw std::runtime_error(made.error().message());
  }
  return std::move(made).value();
}

// What was lent is kept for a later send.
void PointToPoint::release(Outgoing& outgoing, bool) {
  if (outgoing.segment == nullptr) {
    return;
  }
  std::lock_guard lock(mutex_);
  std::uint64_t kept = outgoing.segment->bytes();
  for (const auto& other : spare_) {
    kept += other->bytes();
  }
  if (kept <= kSpareBytes) {
    spare_.push_back(std::move(outgoing.segment));
  }
}

Failure PointToPoint::receive(Direct<Operation> direct) {
  std::optional<Match> match;
  {
    std::lock_guard lock(mutex_);
    match = open_.meet(direct);
    if (!match) {
      Failure gone = whyGone(direct.open->call.root);
      if (gone.what.empty()) {
        open_.wait(std::move(direct));
      }
      return gone;
    }
  }
  transfer(std::move(*match));
  return {};
}

void PointToPoint::take(Direct<Operation>& receive, int source, Message& offer) {
  const std::uint64_t bytes = receive.open->call.bytes;
  std::shared_ptr<std::byte> memory;
  const std::byte* data = offer.body.data();
  try {
    if (offer.header.segment != 0) {
      memory = directory_->find(source, offer.header.segment, offer.header.offset, bytes,
                                std::chrono::milliseconds(0));
      data = memory.get();
    }
    if (bytes == 0 || (data != nullptr && (memory != nullptr || offer.body.size() == bytes))) {
      receive.flat.write(0, bytes, data);
      receive.flat.copyBack();
      return;
    }
    std::unique_lock lock(mutex_);
    const Failure gone = whyGone(source);  // what it had announced is forgotten then
    lock.unlock();
    if (!gone.what.empty()) {
      dispatcher_->failOne(*receive.open, gone);
      return;
    }
    throw std::runtime_error(fmt::format("rank {} sent a message that makes no sense", source));
  } catch (const std::exception& error) {
    dispatcher_->failOne(*receive.open, Failure{error.what(), source, CommErrorKind::kNetwork});
  }
}

void PointToPoint::answer(int peer, const Message::Header& header) {
  mesh_->send(peer, Message{header, {}, {}});  // if it is gone, nobody waits for this
}

void PointToPoint::end(const Direct<Operation>& direct, const std::optional<Failure>& alone) {
  dispatcher_->end(direct.open, alone.value_or(Failure{}));
}

void PointToPoint::lose(int rank, const Failure& failure) {
  std::lock_guard lock(mutex_);
  gone_.emplace(rank, failure);
}

}  // namespace lockstep::process_group::shared_memory
