#include "engine/trace/RankDrain.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/trace/Event.h"
#include "engine/trace/Messages.h"

namespace lockstep::trace {

// Note [Gaps]
// A lane that finds its ring full counts the event and remembers that it owes a kGap; it pays
// with the next event that fits, so that the gap stands where the loss was. A lane that never
// gets to write again (its rank died, its thread ended) leaves the debt: then `dropped` is more
// than its gaps account for, and the rest is written as one last gap after the lane's last event.

RankDrain::RankDrain(int rank, Segment& segment)
    : rank_(rank), segment_(segment), reader_(segment) {}

double RankDrain::drain(RunFileWriter* writer, std::int32_t& nextTrack, int host) {
  host_ = host;
  double fullest = reader_.messagesFill();
  const double capacity = segment_.header().eventsPerLane;
  for (std::uint32_t lane = 0; lane < reader_.lanes(); ++lane) {
    // A lane gets its track when it is first seen, before its first event is written.
    if (lane == lanes_.size()) {
      lanes_.push_back(LaneState{.track = nextTrack++});
      if (writer != nullptr) {
        writer->addTrack(TrackInfo{lanes_.back().track, rank_, reader_.laneName(lane)});
      }
    }
    const double fill = std::min(1.0, static_cast<double>(reader_.waiting(lane)) / capacity);
    ringFillPercent_ = std::max(ringFillPercent_, 100.0 * fill);
    fullest = std::max(fullest, fill);
    reader_.drainLane(lane, [&](const Event& event) { take(lanes_[lane], event, writer); });
  }
  const LastWords& words = segment_.lastWords();
  // A stage is an event only when it has ended; the last words tell the one that goes on.
  if (words.phase.load(std::memory_order_relaxed) ==
      static_cast<std::uint16_t>(EventKind::kStartup)) {
    noteStartup(words.startupStage.load(std::memory_order_relaxed));
  }
  const bool sound =
      reader_.drainMessages([this](std::string_view text) { messages_.emplace_back(text); });
  if (!sound) {
    messages_.push_back(toJson(ProblemMessage{
        "error", currentStep(),
        fmt::format("the message memory of rank {} was overwritten; messages are lost", rank_)}));
  }
  return fullest;
}

void RankDrain::take(LaneState& lane, const Event& event, RunFileWriter* writer) {
  const auto kind = static_cast<EventKind>(event.kind);
  // A gap is made by the ring itself, and stands for events that did not come.
  events_ += kind == EventKind::kGap ? 0 : 1;
  lane.lastTicks = std::max(lane.lastTicks, event.startTicks + event.durationTicks);
  lane.lastStep = event.step;
  switch (kind) {
    // Numbers go into the table of metrics, by name, and not among the spans.
    case EventKind::kLoss:
    case EventKind::kCounter: {
      const double value = std::bit_cast<double>(event.value);
      const bool isLoss = kind == EventKind::kLoss;
      if (isLoss) {
        loss_ = value;
      }
      if (writer != nullptr) {
        const std::string_view metric =
            isLoss ? "loss" : name(static_cast<CounterId>(event.detail));
        writer->addMetric(
            MetricRow{0, rank_, std::string(metric), event.step, event.startTicks, value, host_});
      }
      return;
    }
    case EventKind::kGap:
      lane.gapEvents += event.value;
      break;
    case EventKind::kStep:
      stepsDone_ = std::max(stepsDone_, event.step + 1);
      break;
    case EventKind::kStartup:
      noteStartup(event.detail);
      break;
    default:
      break;
  }
  if (writer != nullptr) {
    writer->addEvent(lane.track, event);
  }
}

void RankDrain::noteStartup(std::uint16_t stage) {
  startupStage_ = std::max(startupStage_, static_cast<StartupStage>(stage));
}

void RankDrain::writeLastGaps(RunFileWriter& writer) {
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    LaneState& lane = lanes_[i];
    const std::uint64_t dropped = reader_.dropped(i);
    // Without a length: when the last of them was lost, nobody saw.
    if (dropped > lane.gapEvents) {
      Event gap;
      gap.startTicks = lane.lastTicks;
      gap.kind = static_cast<std::uint16_t>(EventKind::kGap);
      gap.step = lane.lastStep;
      gap.value = dropped - lane.gapEvents;
      writer.addEvent(lane.track, gap);
      lane.gapEvents = dropped;
    }
  }
}

std::vector<std::string> RankDrain::takeMessages() {
  return std::exchange(messages_, {});
}

double RankDrain::takeRingFillPercent() {
  return std::exchange(ringFillPercent_, 0.0);
}

std::uint64_t RankDrain::dropped() const {
  std::uint64_t sum = 0;
  for (std::uint32_t lane = 0; lane < reader_.lanes(); ++lane) {
    sum += reader_.dropped(lane);
  }
  return sum;
}

std::uint64_t RankDrain::messagesDropped() const {
  return segment_.header().messagesDropped.load(std::memory_order_relaxed);
}

std::uint32_t RankDrain::currentStep() const {
  return segment_.lastWords().step.load(std::memory_order_relaxed);
}

}  // namespace lockstep::trace
