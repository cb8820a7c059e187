#include "engine/analysis/RankDivision.h"

#include <utility>

#include "engine/analysis/RankActivity.h"
#include "engine/analysis/StepDivision.h"
#include "engine/base/InHalves.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {

// A wait is blamed on what the rank did that came last: moments of all ranks have to be there
// before the first step is divided. They are a small part of what is made of the spans.
RankDivision::RankDivision(const RunData& data, const RunAnalysis& run)
    : data_(data), run_(run), spans_(data) {
  std::vector<RankMoments> moments(spans_.size());
  base::inHalves(spans_.size(), 2, [&](std::size_t from, std::size_t to) {
    for (std::size_t place = from; place < to; ++place) {
      RankMoments::Buckets buckets;
      spans_.eachOf(place, RankMoments::wants, 0,
                    [&](const trace::SpanRow& span) { RankMoments::add(span, buckets); });
      moments[place] = RankMoments(buckets, stepsOf(spans_.rank(place)), 0, data.clock.nsPerTick);
    }
  });
  for (std::size_t place = 0; place < spans_.size(); ++place) {
    moments_.add(spans_.rank(place), std::move(moments[place]));
  }
}

const run::Grown<StepTicks>* RankDivision::stepsOf(int rank) const {
  const auto steps = run_.stepRows.lists().find(rank);
  return steps == run_.stepRows.lists().end() ? nullptr : &steps->second;
}

std::vector<std::size_t> RankDivision::firstSteps() const {
  std::vector<std::size_t> first{0};
  for (std::size_t place = 0; place < spans_.size(); ++place) {
    const run::Grown<StepTicks>* steps = stepsOf(spans_.rank(place));
    first.push_back(first.back() + (steps == nullptr ? 0 : steps->size()));
  }
  return first;
}

DividedRank RankDivision::Walk::at(std::size_t place) {
  const base::ClockCalibration& clock = division_.data_.clock;
  const RunAnalysis& run = division_.run_;
  const int rank = division_.spans_.rank(place);
  ActivityPieces activity;
  RankPieces pieces;
  division_.spans_.eachOf(
      place, [](trace::EventKind) { return true; }, 0,
      [&](const trace::SpanRow& span) {
        activity.add(span, clock.nsPerTick);
        if (RankPieces::wants(span.kind)) {
          pieces.add(span);
        }
      });
  RankFlights own = pieces.flights(activity.activity(rank), flights_.of(rank));
  DividedRank divided;
  if (const run::Grown<StepTicks>* steps = division_.stepsOf(rank)) {
    divided.steps.reserve(steps->size());
    for (const StepTicks& step : *steps) {
      divided.steps.push_back(dividedStep(division_.moments_, own, run,
                                          timesOf(step, run.nsPerTick, run.stolenShare), clock));
    }
  }
  divided.computing = std::move(own.computing);
  return divided;
}

}  // namespace lockstep::analysis
