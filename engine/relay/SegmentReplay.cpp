#include "engine/relay/SegmentReplay.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace lockstep::relay {
namespace {

base::Result<trace::Segment> mapAgain(const trace::Segment& segment) {
  const int fd = fcntl(segment.fd(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) {
    return base::systemError(base::ExitCode::kEnvironment, "cannot map the event memory", "");
  }
  return trace::Segment::attach(fd);
}

/// Returns what was added to a count, and remembers it.
std::uint64_t newly(std::uint64_t now, std::uint64_t& before) {
  // Counts only grow: a smaller one adds nothing.
  const std::uint64_t last = std::exchange(before, std::max(now, before));
  return before - last;
}

}  // namespace

base::Result<std::unique_ptr<SegmentReplay>> SegmentReplay::make(const trace::Segment& segment) {
  auto counts = mapAgain(segment);
  auto mapping = mapAgain(segment);
  if (!counts.ok() || !mapping.ok()) {
    return counts.ok() ? mapping.error() : counts.error();
  }
  return std::unique_ptr<SegmentReplay>(
      new SegmentReplay(std::move(counts).value(), std::move(mapping).value()));
}

SegmentReplay::SegmentReplay(trace::Segment counts, trace::Segment mapping)
    : counts_(std::move(counts)), tracer_(std::move(mapping)) {}

void SegmentReplay::apply(const RankPart& part, const base::ClockCalibration& clock,
                          std::uint64_t nowTicks) {
  // In the order of their numbers, so that the lanes here get the same.
  std::vector<const LanePart*> parts;
  for (const LanePart& lane : part.lanes) {
    parts.push_back(&lane);
  }
  std::sort(parts.begin(), parts.end(),
            [](const LanePart* a, const LanePart* b) { return a->lane < b->lane; });
  for (const LanePart* lane : parts) {
    // A lane is made when it is first named; one that is named out of turn is left out, as all
    // after it would get the wrong names.
    if (lane->lane == lanes_.size() && lane->lane < counts_.header().lanes) {
      lanes_.push_back({&tracer_.lane(lane->name), 0});
    }
    if (lane->lane < lanes_.size()) {
      write(lane->lane, *lane);
    }
  }
  for (const std::string& text : part.messages) {
    tracer_.send(text);
  }
  tracer_.countSent(newly(part.sentBytes, sentBytes_), newly(part.sentMessages, sentMessages_));
  tracer_.countReceived(newly(part.receivedBytes, receivedBytes_));
  counts_.header().messagesDropped.fetch_add(newly(part.messagesDropped, messagesDropped_),
                                             std::memory_order_relaxed);
  // As it changes: what this host's side writes meanwhile is newer than what was said long ago.
  if (std::exchange(traceDone_, part.traceDone) != part.traceDone) {
    counts_.header().traceDone.store(part.traceDone, std::memory_order_relaxed);
  }
  write(part.words, clock, nowTicks);
}

void SegmentReplay::write(std::uint32_t index, const LanePart& part) {
  LaneState& state = lanes_[index];
  for (const trace::Event& event : part.events) {
    state.lane->spanUntil(static_cast<trace::EventKind>(event.kind), event.startTicks,
                          event.startTicks + event.durationTicks, event.step, event.bucket,
                          event.value, event.detail);
  }
  counts_.lane(index).dropped.fetch_add(newly(part.dropped, state.dropped),
                                        std::memory_order_relaxed);
}

void SegmentReplay::write(const Words& words, const base::ClockCalibration& clock,
                          std::uint64_t nowTicks) {
  trace::LastWords& to = tracer_.lastWords();
  const auto set = [](auto& field, auto value) { field.store(value, std::memory_order_relaxed); };
  // Last words say since when in ticks of the rank's host; here they are read by this host's clock.
  // So the age is carried over, in nanoseconds.
  const base::ClockReading here = base::readClock();
  std::uint64_t since = 0;  // the rank has said nothing yet
  if (words.sinceTicks != 0) {
    const double ageNs =
        nowTicks > words.sinceTicks ? clock.durationNs(nowTicks - words.sinceTicks) : 0;
    const auto age =
        static_cast<std::uint64_t>(ageNs / base::calibrate(firstReading_, here).nsPerTick);
    since = here.ticks - std::min(age, here.ticks - 1);
  }
  set(to.step, words.step);
  set(to.phase, words.phase);
  set(to.startupStage, words.startupStage);
  set(to.operation, words.operation);
  set(to.bucket, words.bucket);
  set(to.sequence, words.sequence);
  set(to.sinceTicks, since);
  to.hook.fill('\0');
  words.hook.copy(to.hook.data(), to.hook.size() - 1);
  to.error.fill('\0');
  words.error.copy(to.error.data(), to.error.size() - 1);
  set(to.fault, words.fault);
  to.culprits.fill(0);
  std::copy_n(words.culprits.begin(), std::min(words.culprits.size(), to.culprits.size()),
              to.culprits.begin());
  set(to.inputsEnded, words.inputsEnded);
  // Last: who sees it finds the rest written.
  to.finished.store(words.finished, std::memory_order_release);
}

}  // namespace lockstep::relay
