#include "engine/analysis/BucketDelays.h"

#include <algorithm>

#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::SpanRow;

constexpr std::size_t at(BucketMeasure measure) {
  return static_cast<std::size_t>(measure);
}

bool isBucketsCommunication(const SpanRow& span) {
  return span.bucket != trace::kNoBucket && run::has(span.kind, run::kCall);
}

template <typename Gathered>
BucketSample sampleOf(const Intervals& computing, std::uint32_t step, const Gathered& gathered,
                      double nsPerTick) {
  BucketSample sample;
  sample.step = step;
  sample.span = gathered.span;
  sample.startTicks = gathered.spanTicks;
  const bool known = gathered.latenessMs && !gathered.anyUnknown;
  if (known) {
    sample.ms[at(BucketMeasure::kLateness)] = static_cast<float>(*gathered.latenessMs);
    sample.ms[at(BucketMeasure::kWaiting)] = static_cast<float>(gathered.waitingMs);
    sample.ms[at(BucketMeasure::kTransfer)] = static_cast<float>(gathered.transferMs);
  }
  std::uint64_t exposed = 0;
  for (const Interval& piece : unite(gathered.inFlight)) {
    // The pieces are disjoint and so are the stretches of computing: what is clipped counts once.
    exposed += piece.end - piece.begin - length(clip(computing, piece));
  }
  sample.ms[at(BucketMeasure::kExposed)] =
      static_cast<float>(static_cast<double>(exposed) * nsPerTick / 1e6);
  return sample;
}

}  // namespace

const BucketSample* BucketCell::at(std::uint32_t step) const {
  const std::size_t found =
      run::firstWhere(samples, [&](const BucketSample& sample) { return sample.step >= step; });
  return found < samples.size() && samples[found].step == step ? &samples[found] : nullptr;
}

BucketDelays bucketDelays(const RunData& data, const RunAnalysis& analysis) {
  return GrowingBucketDelays().refresh(data, analysis);
}

BucketDelays GrowingBucketDelays::refresh(const RunData& data, const RunAnalysis& analysis) {
  const auto goesOn = [&] {
    return goOn(data, analysis, [this](int rank, const SpanRow& span) { return add(rank, span); });
  };
  if (!goesOn()) {
    *this = GrowingBucketDelays();
    goesOn();
  }
  std::map<StepKey, Gathered> all = open_;
  // What has no collective, a check that was refused, has nothing to select or to measure.
  std::erase_if(all, [](const auto& entry) { return entry.second.spanTicks == ~std::uint64_t{0}; });
  for (const auto& [group, collectives] : analysis.collectives.lists()) {
    for (std::size_t i = firstOfStep(collectives, next_); i < collectives.size(); ++i) {
      if (collectives[i].bucket != trace::kNoBucket) {
        addArrivals(data, collectives[i], all);
      }
    }
  }
  std::map<int, Intervals> computing;
  for (const auto& [rank, pieces] : activity_) {
    computing[rank] = pieces.activity(rank).computing;
  }
  const auto addTo = [&](auto& cells, bool over) {
    for (const auto& [key, gathered] : all) {
      const auto& [rank, bucket, step] = key;
      if ((step < analysis.closed.next) == over) {
        cells[{rank, bucket}].add(sampleOf(computing[rank], step, gathered, basis_.nsPerTick()),
                                  analysis.warmUp.firstMeasured);
      }
    }
  };
  addTo(closed_, true);
  for (auto& [key, cell] : closed_) {
    cell.medians.settle();
  }
  std::map<std::pair<int, std::uint16_t>, Cell> cells = closed_;
  addTo(cells, false);
  forget(analysis.closed.next, analysis);
  BucketDelays delays;
  for (const auto& [key, cell] : cells) {
    if (delays.ranks.empty() || delays.ranks.back() != key.first) {
      delays.ranks.push_back(key.first);
    }
    delays.buckets = std::max(delays.buckets, key.second + 1);
  }
  delays.cells.resize(delays.ranks.size() * static_cast<std::size_t>(delays.buckets));
  std::size_t row = 0;
  for (auto& [key, cell] : cells) {
    row += delays.ranks[row] == key.first ? 0 : 1;
    BucketCell& of = delays.cells[row * static_cast<std::size_t>(delays.buckets) + key.second];
    of = std::move(cell.cell);
    for (std::size_t measure = 0; measure < kBucketMeasures; ++measure) {
      of.medianMs[measure] = cell.medians.median(measure);
    }
  }
  return delays;
}

void GrowingBucketDelays::Cell::add(const BucketSample& sample, std::uint32_t firstMeasured) {
  const auto index = static_cast<std::uint32_t>(cell.samples.size());
  cell.samples.push_back(sample);
  if (sample.step < firstMeasured) {
    return;
  }
  cell.measuredSteps += 1;
  for (std::size_t measure = 0; measure < kBucketMeasures; ++measure) {
    if (sample.ms[measure] < 0) {
      continue;
    }
    medians.add(measure, sample.ms[measure]);
    std::optional<std::uint32_t>& worst = cell.worst[measure];
    worst = worst && cell.samples[*worst].ms[measure] >= sample.ms[measure] ? worst : index;
  }
}

bool GrowingBucketDelays::add(int rank, const SpanRow& span) {
  const bool right = activity_[rank].add(span, basis_.nsPerTick());
  if (!isBucketsCommunication(span)) {
    return right;
  }
  Gathered& entry = open_[{rank, span.bucket, span.step}];
  entry.inFlight.push_back({span.startTicks, span.startTicks + span.durationTicks});
  if (span.kind == EventKind::kCollective && span.startTicks < entry.spanTicks) {
    entry.spanTicks = span.startTicks;
    entry.span = static_cast<std::uint32_t>(span.id);
  }
  return right && span.step >= next_;
}

void GrowingBucketDelays::addArrivals(const RunData& data, const CollectiveTimes& collective,
                                      std::map<StepKey, Gathered>& all) {
  const Arrival& first = *std::min_element(
      collective.arrivals.begin(), collective.arrivals.end(),
      [](const Arrival& a, const Arrival& b) { return a.startTicks < b.startTicks; });
  for (const Arrival& arrival : collective.arrivals) {
    const auto found = all.find({arrival.rank, collective.bucket, collective.step});
    if (found == all.end()) {
      continue;
    }
    Gathered& entry = found->second;
    // One collective without a known last rank makes the step's waiting and transfer unknown for
    // the whole bucket: a sum of the others would look like a short wait.
    if (!collective.complete) {
      entry.anyUnknown = true;
      continue;
    }
    // A hook may make several collectives for a bucket. Later ones follow an exchange of all ranks,
    // which evens out who was late: the first one tells.
    if (arrival.startTicks < entry.arrivalTicks) {
      entry.arrivalTicks = arrival.startTicks;
      const double lateNs = data.clock.durationNs(arrival.startTicks - first.startTicks);
      const auto doubtNs = static_cast<double>(data.doubt.betweenNs(arrival.rank, first.rank));
      // Within the doubt of the clocks it may as well have been the first.
      entry.latenessMs = lateNs <= doubtNs ? 0 : lateNs / 1e6;
    }
    entry.waitingMs += data.clock.durationNs(arrival.waitingTicks) / 1e6;
    entry.transferMs += data.clock.durationNs(arrival.transferTicks) / 1e6;
  }
}

/// Forgets what no step from `next` on depends on.
void GrowingBucketDelays::forget(std::uint32_t next, const RunAnalysis& analysis) {
  next_ = next;
  std::erase_if(open_, [next](const auto& entry) { return std::get<2>(entry.first) < next; });
  std::map<int, std::uint64_t> needed;  // from when on a rank's activity is
  for (const auto& [rank, steps] : analysis.stepRows.lists()) {
    const std::size_t open = firstOfStep(steps, next);
    needed[rank] = open == 0 ? 0 : steps[open - 1].endTicks;
  }
  for (const auto& [key, gathered] : open_) {
    for (const Interval& piece : gathered.inFlight) {
      std::uint64_t& from = needed[std::get<0>(key)];
      from = std::min(from, piece.begin);
    }
  }
  for (const auto& [rank, from] : needed) {
    activity_[rank].forget(from);
  }
}

}  // namespace lockstep::analysis
