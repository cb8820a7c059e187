#include "engine/trace/Tracer.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "engine/trace/Event.h"

namespace lockstep::trace {

// Note [A ring without waiting]
//
// head and tail only ever grow; `& mask_` makes a place in the ring of them. The rank's thread
// alone moves head, the recorder's alone tail, so that neither needs a lock:
//
//   tail                head        limit_ = tail + size, as last seen
//    │ waits to be read  │ free      │
//    ▼                   ▼           ▼
//    ■ ■ ■ ■ ■ ■ ■ ■ ■ ■ □ □ □ □ □ □ ·
//
// The record is written first, then head with release; the recorder reads head with acquire, and so
// never sees a record that is half written. In the other direction it moves tail only after it has
// copied the records, and only then the thread writes over them.
//
// As long as head is below limit_ the thread does not look at tail: the cache line that tail is in
// is written by the recorder, and to fetch it for each event would be most of an event's cost.
// limit_ is 0 while a gap must be written first (Note [Gaps] in RankDrain.cpp): then, too, the
// event has to take the slow way.
bool Lane::push(const Event& event) {
  const std::uint64_t head = header_->head.load(std::memory_order_relaxed);
  limit_ = header_->tail.load(std::memory_order_acquire) + mask_ + 1;
  if (head >= limit_) {
    return false;
  }
  events_[head & mask_] = event;
  header_->head.store(head + 1, std::memory_order_release);
  return true;
}

void Lane::writeWithoutRoom(const Event& event) {
  if (events_ == nullptr) {  // the segment had no lane left
    header_->dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (pendingDrops_ != 0) {
    Event gap;
    gap.startTicks = gapStartTicks_;
    gap.durationTicks = event.startTicks > gapStartTicks_ ? event.startTicks - gapStartTicks_ : 0;
    gap.kind = static_cast<std::uint16_t>(EventKind::kGap);
    gap.step = event.step;
    gap.value = pendingDrops_;
    // The gap takes the first place that is free; the event after it may still find none.
    if (push(gap)) {
      pendingDrops_ = 0;
    }
  }
  if (pendingDrops_ != 0 || !push(event)) {
    if (pendingDrops_++ == 0) {
      gapStartTicks_ = event.startTicks;
    }
    limit_ = 0;
    header_->dropped.fetch_add(1, std::memory_order_relaxed);
  }
}

Tracer::Tracer(Segment segment) : segment_(std::make_unique<Segment>(std::move(segment))) {
  lastWords_ = &segment_->lastWords();
  ownLastWords_.reset();
}

Lane& Tracer::lane(const std::string& name) {
  std::lock_guard lock(mutex_);
  Lane& lane = *lanes_.emplace_back(std::make_unique<Lane>());
  if (segment_ == nullptr) {
    return lane;
  }
  SegmentHeader& header = segment_->header();
  const std::uint32_t index = header.lanesInUse.load(std::memory_order_relaxed);
  lane.capture_ = &header.captureEnabled;
  if (index == header.lanes) {
    // Without a ring of its own (events_ is null) it only counts what it drops, on lane 0.
    lane.header_ = &segment_->lane(0);
    return lane;
  }
  lane.header_ = &segment_->lane(index);
  lane.events_ = segment_->events(index);
  lane.mask_ = header.eventsPerLane - 1;
  std::strncpy(lane.header_->name.data(), name.c_str(), kLaneNameBytes - 1);
  // After name and header: a recorder that sees the lane may read both.
  header.lanesInUse.store(index + 1, std::memory_order_release);
  return lane;
}

bool Tracer::send(std::string_view json) {
  if (segment_ == nullptr) {
    return false;
  }
  // A frame is a 4-byte length and the text, both wrapping round the ring's end.
  std::lock_guard lock(mutex_);
  SegmentHeader& header = segment_->header();
  const std::uint64_t size = header.messageRingBytes;
  const std::uint64_t head = header.messageHead.load(std::memory_order_relaxed);
  const std::uint64_t tail = header.messageTail.load(std::memory_order_acquire);
  // The recorder may be gone, so nothing waits for it. It reports the count as a problem.
  if (head - tail + 4 + json.size() > size) {
    header.messagesDropped.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  char* ring = segment_->messageRing();
  const auto put = [&](std::uint64_t at, const char* bytes, std::size_t count) {
    const std::uint64_t offset = at & (size - 1);
    const std::size_t first = std::min<std::size_t>(count, size - offset);
    std::memcpy(ring + offset, bytes, first);
    std::memcpy(ring, bytes + first, count - first);
  };
  const auto length = static_cast<std::uint32_t>(json.size());
  put(head, reinterpret_cast<const char*>(&length), 4);
  put(head + 4, json.data(), json.size());
  header.messageHead.store(head + 4 + json.size(), std::memory_order_release);
  return true;
}

void Tracer::countSent(std::uint64_t bytes, std::uint64_t messages) {
  ownSentBytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (segment_ != nullptr) {
    segment_->header().sentBytes.fetch_add(bytes, std::memory_order_relaxed);
    segment_->header().sentMessages.fetch_add(messages, std::memory_order_relaxed);
  }
}

void Tracer::countReceived(std::uint64_t bytes) {
  if (segment_ != nullptr) {
    segment_->header().receivedBytes.fetch_add(bytes, std::memory_order_relaxed);
  }
}

std::uint64_t Tracer::sentBytes() const { return ownSentBytes_.load(std::memory_order_relaxed); }

ScopedSpan::ScopedSpan(Lane& lane, EventKind kind, std::uint32_t step, LastWords* words,
                       std::uint16_t bucket, std::uint64_t value, std::uint16_t detail)
    : lane_(lane),
      kind_(kind),
      step_(step),
      words_(words),
      bucket_(bucket),
      detail_(detail),
      value_(value),
      exceptions_(std::uncaught_exceptions()),
      startTicks_(base::ticks()) {
  if (words_ != nullptr) {
    words_->step.store(step_, std::memory_order_relaxed);
    outerPhase_ = words_->phase.exchange(static_cast<std::uint16_t>(kind_));
    words_->sinceTicks.store(startTicks_, std::memory_order_relaxed);
    if (kind_ == EventKind::kStartup) {
      words_->startupStage.store(detail_, std::memory_order_relaxed);
    }
  }
}

ScopedSpan::~ScopedSpan() {
  lane_.span(kind_, startTicks_, step_, bucket_, value_, detail_);
  // More exceptions in flight than at the start: this span is being left by one.
  if (words_ != nullptr && std::uncaught_exceptions() == exceptions_) {
    words_->phase.store(outerPhase_, std::memory_order_relaxed);
  }
}

}  // namespace lockstep::trace
