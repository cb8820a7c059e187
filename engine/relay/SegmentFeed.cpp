#include "engine/relay/SegmentFeed.h"

#include <string.h>

#include <bit>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/trace/Event.h"
#include "engine/trace/Messages.h"

namespace lockstep::relay {
namespace {

template <std::size_t size>
std::string boundedText(const std::array<char, size>& chars) {
  return {chars.data(), strnlen(chars.data(), size)};
}

Words copyOf(const trace::LastWords& words) {
  const auto get = [](const auto& field) { return field.load(std::memory_order_relaxed); };
  return {get(words.step),         get(words.phase),
          get(words.startupStage), get(words.operation),
          get(words.bucket),       get(words.sequence),
          get(words.sinceTicks),   get(words.finished),
          boundedText(words.hook), boundedText(words.error),
          get(words.fault),        std::vector(words.culprits.begin(), words.culprits.end()),
          get(words.inputsEnded)};
}

}  // namespace

SegmentFeed::SegmentFeed(int rank, trace::Segment& segment)
    : rank_(rank), segment_(segment), reader_(segment) {}

RankPart SegmentFeed::take(std::size_t& most) {
  RankPart part;
  part.rank = rank_;
  const trace::SegmentHeader& header = segment_.header();
  // Before the events, so that "finished" and "done" are never ahead of what they stand for.
  part.words = copyOf(segment_.lastWords());
  part.traceDone = header.traceDone.load(std::memory_order_relaxed);
  const std::uint32_t lanes = reader_.lanes();
  // Each time another lane is first: with few events to take, the first ones would get all.
  for (std::uint32_t turn = 0; turn < lanes; ++turn) {
    const std::uint32_t lane = (nextLane_ + turn) % lanes;
    LanePart& taken = part.lanes.emplace_back();
    taken.lane = lane;
    taken.name = reader_.laneName(lane);
    // Counters have no lane; they go with the events of the first.
    if (lane == 0) {
      taken.events = std::exchange(counters_, {});
    }
    const std::size_t before = taken.events.size();
    reader_.drainLane(
        lane, [&](const trace::Event& event) { taken.events.push_back(event); }, most);
    most -= taken.events.size() - before;
    taken.dropped = reader_.dropped(lane);
  }
  nextLane_ = lanes == 0 ? 0 : (nextLane_ + 1) % lanes;
  const bool sound =
      reader_.drainMessages([&](std::string_view text) { part.messages.emplace_back(text); });
  if (!sound) {
    part.messages.push_back(trace::toJson(trace::ProblemMessage{
        "error", part.words.step,
        fmt::format("the message memory of rank {} was overwritten; messages are lost", rank_)}));
  }
  part.sentBytes = header.sentBytes.load(std::memory_order_relaxed);
  part.receivedBytes = header.receivedBytes.load(std::memory_order_relaxed);
  part.sentMessages = header.sentMessages.load(std::memory_order_relaxed);
  part.messagesDropped = header.messagesDropped.load(std::memory_order_relaxed);
  return part;
}

bool SegmentFeed::hasMore() const {
  for (std::uint32_t lane = 0; lane < reader_.lanes(); ++lane) {
    if (reader_.waiting(lane) > 0) {
      return true;
    }
  }
  const trace::SegmentHeader& header = segment_.header();
  return !counters_.empty() || header.messageHead.load(std::memory_order_acquire) !=
                                   header.messageTail.load(std::memory_order_relaxed);
}

void SegmentFeed::sample(std::int64_t pid) {
  const auto use = resources_.sample(pid);
  if (!use || reader_.lanes() == 0) {
    return;
  }
  const std::uint64_t now = base::ticks();
  for (const auto& [counter, value] : trace::countersOf(*use)) {
    trace::Event event;
    event.startTicks = now;
    event.kind = static_cast<std::uint16_t>(trace::EventKind::kCounter);
    event.step = segment_.lastWords().step.load(std::memory_order_relaxed);
    event.detail = static_cast<std::uint16_t>(counter);
    event.value = std::bit_cast<std::uint64_t>(value);
    counters_.push_back(event);
  }
}

}  // namespace lockstep::relay
