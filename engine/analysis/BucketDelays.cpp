#include "engine/analysis/BucketDelays.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "engine/analysis/Intervals.h"
#include "engine/analysis/RankActivity.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::SpanRow;

constexpr std::size_t at(BucketMeasure measure) {
  return static_cast<std::size_t>(measure);
}

/// A step of a bucket of a rank while it is gathered.
struct GatheredCell {
  std::vector<Interval> inFlight;
  std::uint32_t span = 0;
  std::uint64_t spanTicks = ~std::uint64_t{0};     // of the earliest collective
  std::uint64_t arrivalTicks = ~std::uint64_t{0};  // of the earliest with known arrivals
  std::optional<double> latenessMs;
  double waitingMs = 0;
  double transferMs = 0;
  bool anyUnknown = false;
};

using CellKey = std::tuple<int, std::uint16_t, std::uint32_t>;  // rank, bucket, step

bool isBucketsCommunication(const SpanRow& span) {
  return span.bucket != trace::kNoBucket && run::has(span.kind, run::kCall);
}

std::map<CellKey, GatheredCell> gatherSpans(const RunData& data) {
  const auto rankOf = data.rankOfTrack();
  std::map<CellKey, GatheredCell> all;
  for (auto at = data.spans.begin(); at != data.spans.end(); ++at) {
    const SpanRow span = *at;
    const auto rank = rankOf.find(span.track);
    if (rank == rankOf.end() || !isBucketsCommunication(span)) {
      continue;
    }
    GatheredCell& entry = all[{rank->second, span.bucket, span.step}];
    entry.inFlight.push_back({span.startTicks, span.startTicks + span.durationTicks});
    if (span.kind == EventKind::kCollective && span.startTicks < entry.spanTicks) {
      entry.spanTicks = span.startTicks;
      entry.span = at.index();
    }
  }
  // What has no collective, a check that was refused, has nothing to select or to measure.
  std::erase_if(all, [](const auto& entry) { return entry.second.spanTicks == ~std::uint64_t{0}; });
  return all;
}

void addArrivals(const RunData& data, const CollectiveTimes& collective,
                 std::map<CellKey, GatheredCell>& all) {
  const Arrival& first = *std::min_element(
      collective.arrivals.begin(), collective.arrivals.end(),
      [](const Arrival& a, const Arrival& b) { return a.startTicks < b.startTicks; });
  for (const Arrival& arrival : collective.arrivals) {
    const auto found = all.find({arrival.rank, collective.bucket, collective.step});
    if (found == all.end()) {
      continue;
    }
    GatheredCell& entry = found->second;
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

BucketSample sampleOf(const RunData& data, const Intervals& computing, std::uint32_t step,
                      GatheredCell gathered) {
  BucketSample sample;
  sample.step = step;
  sample.span = gathered.span;
  const bool known = gathered.latenessMs && !gathered.anyUnknown;
  if (known) {
    sample.ms[at(BucketMeasure::kLateness)] = static_cast<float>(*gathered.latenessMs);
    sample.ms[at(BucketMeasure::kWaiting)] = static_cast<float>(gathered.waitingMs);
    sample.ms[at(BucketMeasure::kTransfer)] = static_cast<float>(gathered.transferMs);
  }
  std::uint64_t exposed = 0;
  for (const Interval& piece : unite(std::move(gathered.inFlight))) {
    // The pieces are disjoint and so are the stretches of computing: what is clipped counts once.
    exposed += piece.end - piece.begin - length(clip(computing, piece));
  }
  sample.ms[at(BucketMeasure::kExposed)] = static_cast<float>(data.clock.durationNs(exposed) / 1e6);
  return sample;
}

void summarise(BucketCell& cell, std::uint32_t firstMeasured) {
  for (std::size_t measure = 0; measure < kBucketMeasures; ++measure) {
    std::vector<double> values;
    for (std::size_t i = 0; i < cell.samples.size(); ++i) {
      const BucketSample& sample = cell.samples[i];
      if (sample.step < firstMeasured || sample.ms[measure] < 0) {
        continue;
      }
      values.push_back(sample.ms[measure]);
      if (!cell.worst[measure] ||
          sample.ms[measure] > cell.samples[*cell.worst[measure]].ms[measure]) {
        cell.worst[measure] = static_cast<std::uint32_t>(i);
      }
    }
    cell.medianMs[measure] = median(std::move(values));
  }
  for (const BucketSample& sample : cell.samples) {
    cell.measuredSteps += sample.step >= firstMeasured ? 1 : 0;
  }
}

}  // namespace

const BucketSample* BucketCell::at(std::uint32_t step) const {
  const auto found =
      std::lower_bound(samples.begin(), samples.end(), step,
                       [](const BucketSample& sample, std::uint32_t s) { return sample.step < s; });
  return found != samples.end() && found->step == step ? &*found : nullptr;
}

BucketDelays bucketDelays(const RunData& data, const RunAnalysis& analysis) {
  std::map<CellKey, GatheredCell> all = gatherSpans(data);
  for (const CollectiveTimes& collective : analysis.collectives) {
    if (collective.bucket != trace::kNoBucket) {
      addArrivals(data, collective, all);
    }
  }
  BucketDelays delays;
  for (const auto& [key, gathered] : all) {
    const auto& [rank, bucket, step] = key;
    if (delays.ranks.empty() || delays.ranks.back() != rank) {
      delays.ranks.push_back(rank);
    }
    delays.buckets = std::max(delays.buckets, bucket + 1);
  }
  delays.cells.resize(delays.ranks.size() * static_cast<std::size_t>(delays.buckets));
  std::map<int, Intervals> computing;
  for (RankActivity& activity : rankActivity(data)) {
    computing[activity.rank] = std::move(activity.computing);
  }
  for (auto& [key, gathered] : all) {
    const auto& [rank, bucket, step] = key;
    const auto row = static_cast<std::size_t>(
        std::lower_bound(delays.ranks.begin(), delays.ranks.end(), rank) - delays.ranks.begin());
    BucketCell& cell = delays.cells[row * static_cast<std::size_t>(delays.buckets) + bucket];
    cell.samples.push_back(sampleOf(data, computing[rank], step, std::move(gathered)));
  }
  for (BucketCell& cell : delays.cells) {
    summarise(cell, analysis.warmUp.firstMeasured);
  }
  return delays;
}

}  // namespace lockstep::analysis
