#include "engine/process_group/shared_memory/PointToPoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace lockstep::process_group::shared_memory {
namespace {

using Kind = Message::Kind;

// Segments that are kept for later sends take this much at most.
constexpr std::uint64_t kSpareBytes = 64u << 20;

std::string sizeText(std::uint64_t elements, std::int32_t dtype) {
  return fmt::format("{} {}", elements, c10::toString(static_cast<c10::ScalarType>(dtype)));
}

}  // namespace

PointToPoint::PointToPoint(std::shared_ptr<Dispatcher> dispatcher, std::shared_ptr<Mesh> mesh,
                           std::shared_ptr<Directory> directory)
    : dispatcher_(std::move(dispatcher)),
      mesh_(std::move(mesh)),
      directory_(std::move(directory)) {}

OperationPtr PointToPoint::send(Call call, at::Tensor tensor, int tag,
                                std::chrono::milliseconds limit) {
  const int to = call.root;
  Message offer;
  offer.header.kind = Kind::kOffer;
  offer.header.tag = static_cast<std::uint32_t>(tag);
  offer.header.bytes = call.bytes;
  offer.header.elements = call.elements;
  offer.header.dtype = static_cast<std::int32_t>(call.dtype);
  const OperationPtr operation = dispatcher_->open(std::move(call), {tensor}, limit);
  if (operation->failed()) {
    return operation;
  }
  Outgoing outgoing{operation, std::move(tensor), nullptr};
  // Without the mutex: a copy of much data takes long.
  try {
    layOut(outgoing, offer);
  } catch (const std::exception& error) {
    failOne(operation, Failure{error.what()});
    return operation;
  }
  Failure failure;
  {
    // With the mutex held, so that the offers of a tag leave in the order of their numbers.
    std::lock_guard lock(mutex_);
    offer.header.id = ++ids_;
    if (const auto gone = gone_.find(to); gone != gone_.end()) {
      failure = gone->second;
    } else {
      outgoing_.emplace(offer.header.id, std::move(outgoing));
      mesh_->send(to, std::move(offer));  // if it cannot be sent, the watch ends the operation
    }
  }
  if (!failure.what.empty()) {
    failOne(operation, failure);
  } else if (operation->failed()) {  // perhaps before it stood among those that are ended
    endFailed();
  }
  return operation;
}

// Puts the data into the offer, or says there where it lies.
void PointToPoint::layOut(Outgoing& outgoing, Message& offer) {
  const Flat flat({outgoing.tensor}, Flat::Access::kRead);
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

void PointToPoint::giveBack(std::shared_ptr<Segment> segment) {
  if (segment == nullptr) {
    return;
  }
  std::lock_guard lock(mutex_);
  std::uint64_t kept = segment->bytes();
  for (const auto& other : spare_) {
    kept += other->bytes();
  }
  if (kept <= kSpareBytes) {
    spare_.push_back(std::move(segment));
  }
}

OperationPtr PointToPoint::receive(Call call, at::Tensor tensor, int tag,
                                   std::chrono::milliseconds limit) {
  const OperationPtr operation = dispatcher_->open(std::move(call), {tensor}, limit);
  if (operation->failed()) {
    return operation;
  }
  Wanted wanted{operation, std::move(tensor), static_cast<std::uint32_t>(tag)};
  Offer offer;
  Failure failure;
  {
    std::lock_guard lock(mutex_);
    const auto found = std::find_if(offers_.begin(), offers_.end(), [&](const Offer& offered) {
      return wanted.takes(offered.source, offered.message.header);
    });
    if (found != offers_.end()) {
      offer = std::move(*found);
      offers_.erase(found);
    } else if (const auto gone = gone_.find(operation->call.root); gone != gone_.end()) {
      failure = gone->second;
    } else {
      wanted_.push_back(wanted);
    }
  }
  // By the calling thread: the sender waits for the answer, and this one has what it needs.
  if (offer.source >= 0) {
    transfer(wanted, offer.source, offer.message);
  } else if (!failure.what.empty()) {
    failOne(operation, failure);
  } else if (operation->failed()) {
    endFailed();
  }
  return operation;
}

void PointToPoint::arrived(int rank, Message message) {
  if (message.header.kind != Kind::kOffer) {
    endOutgoing(rank, message.header);
    return;
  }
  Wanted wanted;
  {
    std::lock_guard lock(mutex_);
    // An older offer of the same kind goes first; none can be there that a receive waits for.
    const auto found = std::find_if(wanted_.begin(), wanted_.end(), [&](const Wanted& want) {
      return want.takes(rank, message.header);
    });
    if (found == wanted_.end()) {
      offers_.push_back(Offer{rank, std::move(message)});
      return;
    }
    wanted = std::move(*found);
    wanted_.erase(found);
  }
  transfer(wanted, rank, message);
}

void PointToPoint::transfer(const Wanted& wanted, int source, const Message& offer) {
  const OperationPtr& operation = wanted.operation;
  const Call& call = operation->call;
  Message answer;
  answer.header.id = offer.header.id;
  answer.header.elements = call.elements;
  answer.header.dtype = static_cast<std::int32_t>(call.dtype);
  Failure alone;
  // Compared before anything is written: a receive that is refused leaves its tensor as it was.
  if (offer.header.dtype != answer.header.dtype || offer.header.elements != call.elements) {
    answer.header.kind = Kind::kRefused;
    alone = Failure{fmt::format("rank {} sends {}, this rank expects {}", source,
                                sizeText(offer.header.elements, offer.header.dtype),
                                sizeText(call.elements, answer.header.dtype)),
                    source, CommErrorKind::kMismatch};
  } else {
    answer.header.kind = Kind::kAccepted;
    try {
      Flat flat({wanted.tensor}, Flat::Access::kWrite);
      std::shared_ptr<std::byte> memory;
      const std::byte* data = offer.body.data();
      // No patience: the announcement came over the same connection before the offer did.
      if (offer.header.segment != 0) {
        memory = directory_->find(source, offer.header.segment, offer.header.offset, call.bytes,
                                  std::chrono::milliseconds(0));
        data = memory.get();
      }
      if (call.bytes != 0 &&
          (data == nullptr || (memory == nullptr && offer.body.size() != call.bytes))) {
        std::unique_lock lock(mutex_);
        if (const auto gone = gone_.find(source); gone != gone_.end()) {
          const Failure why = gone->second;  // what it had announced is forgotten
          lock.unlock();
          failOne(operation, why);
          return;
        }
        throw std::runtime_error(fmt::format("rank {} sent a message that makes no sense", source));
      }
      flat.write(0, call.bytes, data);
      flat.copyBack();
    } catch (const std::exception& error) {
      failOne(operation, Failure{error.what(), source, CommErrorKind::kNetwork});
      return;
    }
    operation->work->setSourceRank(source);
  }
  dispatcher_->end(operation, alone);
  mesh_->send(source, std::move(answer));  // if it is gone, nobody waits for this
}

void PointToPoint::endOutgoing(int rank, const Message::Header& answer) {
  Outgoing outgoing;
  {
    std::lock_guard lock(mutex_);
    const auto found = outgoing_.find(answer.id);
    if (found == outgoing_.end() || found->second.operation->call.root != rank) {
      return;  // it has failed meanwhile
    }
    outgoing = std::move(found->second);
    outgoing_.erase(found);
  }
  // Given back only on an answer. Where a send fails, the receiver may still be reading its
  // segment, which must not be filled again: it goes with the operation.
  giveBack(std::move(outgoing.segment));
  Failure alone;
  if (answer.kind == Kind::kRefused) {
    const Call& call = outgoing.operation->call;
    alone = Failure{fmt::format("rank {} expects {}, this rank sends {}", rank,
                                sizeText(answer.elements, answer.dtype),
                                sizeText(call.elements, static_cast<std::int32_t>(call.dtype))),
                    rank, CommErrorKind::kMismatch};
  }
  dispatcher_->end(outgoing.operation, alone);
}

void PointToPoint::lose(int rank, const Failure& failure) {
  std::lock_guard lock(mutex_);
  gone_.emplace(rank, failure);
}

void PointToPoint::failOne(const OperationPtr& operation, const Failure& failure) {
  dispatcher_->failOne(*operation, failure);
  dispatcher_->end(operation);
}

void PointToPoint::endFailed() {
  std::vector<OperationPtr> failed;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(outgoing_, [&](const auto& entry) {
      const bool gone = entry.second.operation->failed();
      if (gone) {
        failed.push_back(entry.second.operation);
      }
      return gone;
    });
    std::erase_if(wanted_, [&](const Wanted& wanted) {
      const bool gone = wanted.operation->failed();
      if (gone) {
        failed.push_back(wanted.operation);
      }
      return gone;
    });
  }
  for (const OperationPtr& operation : failed) {
    dispatcher_->end(operation);
  }
}

}  // namespace lockstep::process_group::shared_memory
