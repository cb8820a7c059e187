#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/base/Result.h"
#include "engine/trace/EventRecord.h"
#include "engine/trace/Segment.h"

namespace lockstep::trace {

/// The ring of one thread. Only that thread may emit, or threads that take turns under one
/// lock. Never blocks, allocates or formats: a full ring counts the event and later writes
/// one kGap span where the loss happened. About 10 ns an event. Note [A ring without waiting] in
/// Tracer.cpp.
class Lane {
 public:
  /// Emits a span that began at `startTicks` and ends now.
  void span(EventKind kind, std::uint64_t startTicks, std::uint32_t step,
            std::uint16_t bucket = kNoBucket, std::uint64_t value = 0, std::uint16_t detail = 0) {
    if (enabled()) {
      spanUntil(kind, startTicks, base::ticks(), step, bucket, value, detail);
    }
  }

  /// Emits a span with both ends given.
  void spanUntil(EventKind kind, std::uint64_t startTicks, std::uint64_t endTicks,
                 std::uint32_t step, std::uint16_t bucket = kNoBucket, std::uint64_t value = 0,
                 std::uint16_t detail = 0) {
    if (!enabled()) {
      return;
    }
    const auto fill = [&](Event& event) {
      event.startTicks = startTicks;
      event.durationTicks = endTicks > startTicks ? endTicks - startTicks : 0;
      event.kind = static_cast<std::uint16_t>(kind);
      event.step = step;
      event.bucket = bucket;
      event.detail = detail;
      event.value = value;
    };
    const std::uint64_t head = header_->head.load(std::memory_order_relaxed);
    if (head < limit_) [[likely]] {
      fill(events_[head & mask_]);  // in place: a copy would wait for its own small stores
      header_->head.store(head + 1, std::memory_order_release);
    } else {
      Event event;
      fill(event);
      writeWithoutRoom(event);
    }
  }

  /// Emits an instant that happens now.
  void instant(EventKind kind, std::uint32_t step, std::uint16_t bucket = kNoBucket,
               std::uint64_t value = 0, std::uint16_t detail = 0) {
    if (enabled()) {
      const std::uint64_t now = base::ticks();
      spanUntil(kind, now, now, step, bucket, value, detail);
    }
  }

  /// Emits an instant that carries a number.
  void number(EventKind kind, std::uint32_t step, double value, std::uint16_t detail = 0) {
    instant(kind, step, kNoBucket, std::bit_cast<std::uint64_t>(value), detail);
  }

  [[nodiscard]] bool enabled() const {
    return capture_ != nullptr && capture_->load(std::memory_order_relaxed) != 0;
  }

 private:
  friend class Tracer;
  void writeWithoutRoom(const Event& event);
  bool push(const Event& event);

  const std::atomic<std::uint32_t>* capture_ = nullptr;
  LaneHeader* header_ = nullptr;
  Event* events_ = nullptr;
  std::uint64_t mask_ = 0;
  // There is room for an event while head is below this; 0 while a kGap has to be written first.
  std::uint64_t limit_ = 0;
  std::uint64_t pendingDrops_ = 0;  // since the last kGap was written
  std::uint64_t gapStartTicks_ = 0;
};

/// The event side of one rank: hands out lanes, sends messages, keeps the last words.
/// Without a segment everything is accepted and nothing is kept, so that code under test and
/// runs started without a supervisor need no special case.
class Tracer {
 public:
  Tracer() = default;
  explicit Tracer(Segment segment);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// Returns a new lane named as the timeline shows it ("step", "gloo 0", "hook"). The lane
  /// lives as long as the tracer. When the segment has no lane left, the events of the new
  /// lane are dropped and counted on lane 0. [any-thread]
  Lane& lane(const std::string& name);

  /// Sends one JSON text (Messages.h) to the recorder; returns false and counts when the
  /// message ring is full. [any-thread]
  bool send(std::string_view json);

  /// Returns the last-words block: the segment's, or a private one without a segment.
  [[nodiscard]] LastWords& lastWords() { return *lastWords_; }

  /// Adds to the byte and message counts of the wire. [any-thread]
  void countSent(std::uint64_t bytes, std::uint64_t messages = 1);
  void countReceived(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t sentBytes() const;

  [[nodiscard]] bool recording() const { return segment_ != nullptr; }

 private:
  std::unique_ptr<Segment> segment_;
  std::unique_ptr<LastWords> ownLastWords_ = std::make_unique<LastWords>();
  LastWords* lastWords_ = ownLastWords_.get();
  std::atomic<std::uint64_t> ownSentBytes_{0};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

/// Emits a span from its construction to its destruction; sets the open phase of the last
/// words meanwhile when `words` is given. An exception that ends the span leaves the phase
/// standing, so that the last words say where it came from. For the step thread.
class ScopedSpan {
 public:
  ScopedSpan(Lane& lane, EventKind kind, std::uint32_t step, LastWords* words = nullptr,
             std::uint16_t bucket = kNoBucket, std::uint64_t value = 0, std::uint16_t detail = 0);
  ~ScopedSpan();
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

 private:
  Lane& lane_;
  EventKind kind_;
  std::uint32_t step_;
  LastWords* words_;
  std::uint16_t bucket_;
  std::uint16_t detail_;
  std::uint64_t value_;
  std::uint16_t outerPhase_ = 0;
  int exceptions_;
  std::uint64_t startTicks_;
};

}  // namespace lockstep::trace
