#include "engine/capture/RankSums.h"

#include <cmath>
#include <vector>

namespace lockstep::capture {

void RankSums::add(const trace::Event& event, double nsPerTick) {
  trace::SpanRow span;
  span.kind = static_cast<trace::EventKind>(event.kind);
  span.startTicks = event.startTicks;
  span.durationTicks = event.durationTicks;
  span.step = event.step;
  span.bucket = event.bucket;
  span.detail = event.detail;
  span.value = event.value;
  // What comes later than its step was taken is in no sum: there is nobody to tell.
  static_cast<void>(activity_.add(span, nsPerTick));
  static_cast<void>(steps_.add(span));
}

std::optional<RankSums::Summed> RankSums::take(std::uint32_t step) {
  std::optional<Summed> summed;
  std::uint64_t endTicks = 0;
  for (const analysis::StepTicks& ticks : steps_.measure(activity_.activity(rank_))) {
    if (ticks.step > step) {
      continue;
    }
    endTicks = std::max(endTicks, ticks.endTicks);
    if (ticks.step == step) {
      Summed& made = summed.emplace();
      made.durationTicks = ticks.duration();
      static_cast<trace::StepSums&>(made.row) = ticks;
      made.row.rank = rank_;
      made.row.step = step;
      made.row.coreWait = static_cast<std::uint64_t>(std::llround(ticks.coreWait));
    }
  }
  if (endTicks > 0) {
    steps_.forget(step + 1, endTicks);
    activity_.forget(endTicks);
  }
  return summed;
}

}  // namespace lockstep::capture
