#include "engine/process_group/shared_memory/Directory.h"

#include <fmt/format.h>

#include <stdexcept>

namespace lockstep::process_group::shared_memory {

void Directory::announce(Segment& segment) {
  std::lock_guard lock(announceMutex_);
  // While sending, with the mutex held: a second caller returns only when the message is on its
  // way, so that an operation which names the segment comes after it.
  if (!announced_.insert(segment.id()).second) {
    return;
  }
  Message::Header header;
  header.kind = Message::Kind::kSegment;
  header.id = segment.id();
  header.bytes = segment.bytes();
  mesh_->sendToAll(header, {}, segment.file());
  // Weak: tensors may live longer than the group.
  segment.whenGone([weak = weak_from_this()](std::uint64_t id) {
    if (const auto self = weak.lock()) {
      std::lock_guard lock(self->announceMutex_);
      self->announced_.erase(id);
      Message::Header gone;
      gone.kind = Message::Kind::kGone;
      gone.id = id;
      self->mesh_->sendToAll(gone);
    }
  });
}

void Directory::learn(int rank, const Message::Header& header, posix::Descriptor file) {
  std::lock_guard lock(mutex_);
  Known& known = known_[{rank, header.id}];
  known.file = std::move(file);
  known.bytes = header.bytes;
  learnt_.notify_all();
}

void Directory::forget(int rank, std::uint64_t id) {
  Known known;  // unmapped without the mutex
  std::lock_guard lock(mutex_);
  if (const auto found = known_.find({rank, id}); found != known_.end()) {
    known = std::move(found->second);
    known_.erase(found);
  }
}

void Directory::forgetAll(int rank) {
  std::map<std::pair<int, std::uint64_t>, Known> gone;
  std::lock_guard lock(mutex_);
  for (auto entry = known_.begin(); entry != known_.end();) {
    const auto next = std::next(entry);
    if (entry->first.first == rank) {
      gone.insert(known_.extract(entry));
    }
    entry = next;
  }
}

std::shared_ptr<std::byte> Directory::find(int rank, std::uint64_t id, std::uint64_t offset,
                                           std::uint64_t bytes,
                                           std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  auto found = known_.find({rank, id});
  if (found == known_.end()) {
    learnt_.wait_for(lock, patience, [&] { return known_.contains({rank, id}); });
    found = known_.find({rank, id});
    if (found == known_.end()) {
      return nullptr;
    }
  }
  Known& known = found->second;
  // Mapped when it is first used: many segments that ranks announce are never needed by this one.
  if (known.segment == nullptr) {
    auto adopted = Segment::adopt(std::move(known.file), known.bytes);
    if (!adopted.ok()) {
      throw std::runtime_error(
          fmt::format("cannot use the memory of rank {}: {}", rank, adopted.error().message()));
    }
    known.segment = std::move(adopted).value();
  }
  // Written so that it cannot overflow, whatever the other rank has sent.
  if (offset > known.bytes || bytes > known.bytes - offset) {
    throw std::runtime_error(fmt::format("rank {} shows {} bytes at {} of a segment of {}", rank,
                                         bytes, offset, known.bytes));
  }
  // Shares the segment, so that it stays mapped while somebody reads, also when the other forgets
  // it.
  return {known.segment, known.segment->data() + offset};
}

}  // namespace lockstep::process_group::shared_memory
