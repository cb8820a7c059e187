#include "engine/analysis/BucketDelays.h"

#include <algorithm>
#include <ranges>
#include <tuple>

#include "engine/analysis/RankDivision.h"
#include "engine/base/InHalves.h"
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
  return span.bucket != trace::kNoBucket && BucketCalls::wants(span.kind);
}

/// By bucket, then step.
template <typename Of>
auto placeOfBucket(const Of& of) {
  return std::tuple(of.bucket, of.step);
}

/// The collectives of buckets from a step on, each with the rank that came first.
class BucketCollectives {
 public:
  struct Entry {
    std::uint16_t bucket = 0;
    std::uint32_t step = 0;
    const CollectiveTimes* collective = nullptr;
    const Arrival* first = nullptr;
  };

  BucketCollectives(const RunAnalysis& analysis, std::uint32_t firstStep) {
    const auto earlier = [](const Arrival& a, const Arrival& b) {
      return a.startTicks < b.startTicks;
    };
    for (const auto& [group, collectives] : analysis.collectives.lists()) {
      for (std::size_t i = firstOfStep(collectives, firstStep); i < collectives.size(); ++i) {
        const CollectiveTimes& of = collectives[i];
        if (of.bucket != trace::kNoBucket) {
          entries_.push_back(
              {of.bucket, of.step, &of, &*std::ranges::min_element(of.arrivals, earlier)});
        }
      }
    }
    std::ranges::stable_sort(entries_, {}, placeOfBucket<Entry>);
  }

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

/// A rank's part in a collective of a bucket.
struct BucketArrival {
  const BucketCollectives::Entry* of = nullptr;
  const Arrival* arrival = nullptr;
};

/// The parts of one rank after the other, in the order of BucketCollectives. Ranks ascend: it goes
/// on where it was.
class BucketArrivals {
 public:
  explicit BucketArrivals(const BucketCollectives& collectives)
      : collectives_(collectives.entries()), next_(collectives_.size()) {}

  const std::vector<BucketArrival>& of(int rank) {
    parts_.clear();
    for (std::size_t i = 0; i < collectives_.size(); ++i) {
      const std::vector<Arrival>& arrivals = collectives_[i].collective->arrivals;  // by rank
      std::size_t& next = next_[i];
      while (next < arrivals.size() && arrivals[next].rank < rank) {
        ++next;
      }
      if (next < arrivals.size() && arrivals[next].rank == rank) {
        parts_.push_back({&collectives_[i], &arrivals[next]});
      }
    }
    return parts_;
  }

 private:
  const std::vector<BucketCollectives::Entry>& collectives_;
  std::vector<std::size_t> next_;  // of the arrivals of each
  std::vector<BucketArrival> parts_;
};

/// One step of one bucket on one rank while it is measured.
class BucketOfStep {
 public:
  void add(const BucketCalls::Call& call) {
    inFlight_.push_back(call.inFlight);
    if (call.collective && call.inFlight.begin < sample_.startTicks) {
      sample_.startTicks = call.inFlight.begin;
      sample_.span = call.span;
    }
  }

  /// `mostNs`: no two ranks' clocks are in doubt by more.
  void add(const BucketArrival& part, const RunData& data, double mostNs) {
    // One collective without a known last rank makes the step's waiting and transfer unknown for
    // the whole bucket: a sum of the others would look like a short wait.
    if (!part.of->collective->complete) {
      anyUnknown_ = true;
      return;
    }
    const Arrival& arrival = *part.arrival;
    const Arrival& first = *part.of->first;
    // A hook may make several collectives for a bucket. Later ones follow an exchange of all ranks,
    // which evens out who was late: the first one tells.
    if (arrival.startTicks < arrivalTicks_) {
      arrivalTicks_ = arrival.startTicks;
      const double lateNs = data.clock.durationNs(arrival.startTicks - first.startTicks);
      // Within the doubt of the clocks it may as well have been the first.
      const bool unclear = lateNs <= mostNs && lateNs <= static_cast<double>(data.doubt.betweenNs(
                                                             arrival.rank, first.rank));
      latenessMs_ = unclear ? 0 : lateNs / 1e6;
    }
    waitingMs_ += data.clock.durationNs(arrival.waitingTicks()) / 1e6;
    transferMs_ += data.clock.durationNs(arrival.transferTicks()) / 1e6;
  }

  /// None where it has no collective, as of a check that was refused: there is nothing to select
  /// or to measure.
  std::optional<BucketSample> sample(std::uint32_t step, const Intervals& computing,
                                     double nsPerTick) {
    if (sample_.startTicks == kNever) {
      return std::nullopt;
    }
    sample_.step = step;
    if (latenessMs_ && !anyUnknown_) {
      sample_.ms[at(BucketMeasure::kLateness)] = static_cast<float>(*latenessMs_);
      sample_.ms[at(BucketMeasure::kWaiting)] = static_cast<float>(waitingMs_);
      sample_.ms[at(BucketMeasure::kTransfer)] = static_cast<float>(transferMs_);
    }
    std::uint64_t exposed = 0;
    for (const Interval& piece : unite(std::move(inFlight_))) {
      // The pieces are disjoint and so are the stretches of computing: what is clipped counts once.
      exposed += piece.end - piece.begin - length(clip(computing, piece));
    }
    sample_.ms[at(BucketMeasure::kExposed)] =
        static_cast<float>(static_cast<double>(exposed) * nsPerTick / 1e6);
    return sample_;
  }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  std::vector<Interval> inFlight_;
  BucketSample sample_{.startTicks = kNever};  // of the earliest collective
  std::uint64_t arrivalTicks_ = kNever;        // of the earliest with known arrivals
  std::optional<double> latenessMs_;
  double waitingMs_ = 0;
  double transferMs_ = 0;
  bool anyUnknown_ = false;
};

/// Calls `take` with bucket and sample of each step of each bucket of a rank, by bucket, then step.
template <typename Take>
void measureBuckets(const std::vector<BucketCalls::Call>& calls, const Intervals& computing,
                    const std::vector<BucketArrival>& arrivals, const StepCosts& costs,
                    const RunData& data, double nsPerTick, const Take& take) {
  const auto mostNs = static_cast<double>(data.doubt.mostNs());
  auto part = arrivals.begin();
  for (auto call = calls.begin(); call != calls.end();) {
    const auto place = placeOfBucket(*call);
    const std::uint32_t step = call->step;
    const std::uint16_t bucket = call->bucket;
    BucketOfStep gathered;
    for (; call != calls.end() && placeOfBucket(*call) == place; ++call) {
      gathered.add(*call);
    }
    for (; part != arrivals.end() && placeOfBucket(*part->of) <= place; ++part) {
      if (placeOfBucket(*part->of) == place) {
        gathered.add(*part, data, mostNs);
      }
    }
    if (auto sample = gathered.sample(step, computing, nsPerTick)) {
      if (const auto cost = costs.of(step, bucket)) {
        sample->ms[at(BucketMeasure::kCost)] = static_cast<float>(cost->ms);
        sample->counts = cost->counts;
      }
      take(bucket, *sample);
    }
  }
}

void addSample(MeasuredBucket& to, const BucketSample& sample, std::uint32_t firstMeasured) {
  BucketCell& cell = to.cell;
  const auto index = static_cast<std::uint32_t>(cell.samples.size());
  cell.samples.push_back(sample);
  if (sample.step < firstMeasured) {
    return;
  }
  cell.measuredSteps += 1;
  for (std::size_t measure = 0; measure < kBucketMeasures; ++measure) {
    if (sample.ms[measure] < 0 || (measure == at(BucketMeasure::kCost) && !sample.counts)) {
      continue;
    }
    to.medians.add(measure, sample.ms[measure]);
    std::optional<std::uint32_t>& worst = cell.worst[measure];
    worst = worst && cell.samples[*worst].ms[measure] >= sample.ms[measure] ? worst : index;
  }
}

BucketCell finishedCell(MeasuredBucket of) {
  for (std::size_t measure = 0; measure < kBucketMeasures; ++measure) {
    of.cell.medianMs[measure] = of.medians.median(measure);
  }
  return std::move(of.cell);
}

using RankCells = std::vector<std::pair<std::uint16_t, BucketCell>>;  // by bucket

/// `all`: by rank. Ranks without a cell are left out.
BucketDelays delaysOf(std::vector<std::pair<int, RankCells>> all) {
  BucketDelays delays;
  std::erase_if(all, [](const auto& rank) { return rank.second.empty(); });
  for (const auto& [rank, cells] : all) {
    delays.ranks.push_back(rank);
    delays.buckets = std::max(delays.buckets, cells.back().first + 1);
  }
  const auto columns = static_cast<std::size_t>(delays.buckets);
  delays.cells.resize(all.size() * columns);
  for (std::size_t row = 0; row < all.size(); ++row) {
    for (auto& [bucket, cell] : all[row].second) {
      delays.cells[row * columns + bucket] = std::move(cell);
    }
  }
  return delays;
}

struct Measured {
  BucketDelays delays;
  std::optional<TailCause> told;  // toldTransfer(), which the steps that were kept do not say yet
};

// One rank after the other on each of two threads, so that what a cell is made of is there of no
// more than two ranks at a time: of many it would be most of what a run takes. Of their steps only
// that stays by which all of them together tell what their transfers are called, before costs are
// added up, and what `keep` makes of a rank's place and its steps.
template <typename Keep>
Measured delaysOfAll(const RankDivision& division, const RunData& data, const RunAnalysis& analysis,
                     const Keep& keep) {
  const SpansByRank& ranks = division.ranks();
  const BucketCollectives collectives(analysis, 0);
  const std::uint32_t firstMeasured = analysis.warmUp.firstMeasured;
  std::array<BucketCosts, 2> halves;
  std::vector<std::vector<TransferOfStep>> transfers(ranks.size());
  std::vector<std::pair<int, RankCells>> all(ranks.size());
  base::inHalves(ranks.size(), 2, [&](std::size_t from, std::size_t to) {
    RankDivision::Walk walk(division);
    BucketArrivals arrivals(collectives);
    BucketCosts& costs = halves[from == 0 ? 0 : 1];
    for (std::size_t place = from; place < to; ++place) {
      const int rank = ranks.rank(place);
      DividedRank divided = walk.at(place);
      BucketCalls calls;
      ranks.eachOf(place, BucketCalls::wants, 0, [&](const SpanRow& span) { calls.add(span); });
      StepCosts byStep;
      byStep.add(divided.steps, firstMeasured);
      std::map<std::uint16_t, MeasuredBucket> cells;
      measureBuckets(calls.sorted(), divided.computing, arrivals.of(rank), byStep, data,
                     data.clock.nsPerTick, [&](std::uint16_t bucket, const BucketSample& sample) {
                       addSample(cells[bucket], sample, firstMeasured);
                     });
      all[place].first = rank;
      for (auto& [bucket, cell] : cells) {
        all[place].second.emplace_back(bucket, finishedCell(std::move(cell)));
      }
      costs.add(divided.steps, firstMeasured);
      appendTransfers(divided.steps, transfers[place]);
      keep(place, std::move(divided.steps));
    }
  });
  std::vector<TransferOfStep> ofAll;
  for (const std::vector<TransferOfStep>& of : transfers) {
    ofAll.insert(ofAll.end(), of.begin(), of.end());
  }
  Measured measured;
  measured.told = toldTransfer(ofAll, data, analysis);
  for (BucketCosts& costs : halves) {
    if (measured.told) {
      costs.tellTransfer(*measured.told);
    }
  }
  measured.delays = delaysOf(std::move(all));
  measured.delays.costs = std::move(halves.front());
  measured.delays.costs.add(std::move(halves.back()));
  return measured;
}

}  // namespace

const BucketSample* BucketCell::at(std::uint32_t step) const {
  const std::size_t found =
      run::firstWhere(samples, [&](const BucketSample& sample) { return sample.step >= step; });
  return found < samples.size() && samples[found].step == step ? &samples[found] : nullptr;
}

bool BucketCalls::wants(EventKind kind) {
  return run::has(kind, run::kCall);
}

void BucketCalls::add(const SpanRow& span) {
  if (isBucketsCommunication(span)) {
    calls_.push_back({{span.startTicks, span.startTicks + span.durationTicks},
                      span.step,
                      static_cast<std::uint32_t>(span.id),
                      span.bucket,
                      span.kind == EventKind::kCollective});
  }
}

const std::vector<BucketCalls::Call>& BucketCalls::sorted() {
  std::ranges::stable_sort(calls_, {}, placeOfBucket<Call>);
  return calls_;
}

void BucketCalls::forget(std::uint32_t next) {
  std::erase_if(calls_, [next](const Call& call) { return call.step < next; });
}

BucketDelays bucketDelays(const RunData& data, const RunAnalysis& analysis) {
  const auto keepNone = [](std::size_t, const std::vector<StepOverlap>&) {};
  return delaysOfAll(RankDivision(data, analysis), data, analysis, keepNone).delays;
}

StepsAndDelays stepsAndDelays(const RunData& data, const RunAnalysis& analysis) {
  const RankDivision division(data, analysis);
  StepsAndDelays of;
  of.steps.resize(division.ranks().size());
  Measured measured =
      delaysOfAll(division, data, analysis, [&](std::size_t place, std::vector<StepOverlap> steps) {
        of.steps[place] = std::move(steps);
      });
  for (std::vector<StepOverlap>& steps : of.steps) {
    if (measured.told) {
      markTransfers(steps, *measured.told);
    }
  }
  of.delays = std::move(measured.delays);
  return of;
}

std::vector<StepOverlap> stepOverlaps(const RunData& data, const RunAnalysis& analysis,
                                      BucketDelays& delays) {
  const RankDivision division(data, analysis);
  const std::vector<std::size_t> first = division.firstSteps();
  std::vector<StepOverlap> all(first.back());
  Measured measured =
      delaysOfAll(division, data, analysis, [&](std::size_t place, std::vector<StepOverlap> steps) {
        std::ranges::move(steps, all.begin() + static_cast<std::ptrdiff_t>(first[place]));
      });
  if (measured.told) {
    markTransfers(all, *measured.told);
  }
  delays = std::move(measured.delays);
  return all;
}

BucketDelays GrowingBucketDelays::refresh(const RunData& data, const RunAnalysis& analysis) {
  if (!analysis.closed.more) {
    // All is made anew once it has ended (Note [Figures of closed steps]), and nothing is kept.
    *this = GrowingBucketDelays();
    return bucketDelays(data, analysis);
  }
  const auto goesOn = [&] {
    return goOn(data, analysis, [this](int rank, const SpanRow& span) { return add(rank, span); });
  };
  if (!goesOn()) {
    *this = GrowingBucketDelays();
    goesOn();
  }
  const std::uint32_t firstMeasured = analysis.warmUp.firstMeasured;
  const BucketCollectives collectives(analysis, next_);
  BucketArrivals arrivals(collectives);
  const OverlapNews news = overlaps_.refresh(data, analysis);
  if (news.anew) {
    costs_ = {};
  }
  costs_.add(news.closed, firstMeasured);
  BucketCosts costs = costs_;
  costs.add(news.open, firstMeasured);
  std::map<int, StepCosts> byStep;  // by rank
  for (const auto* steps : {&news.closed, &news.open}) {
    for (const StepOverlap& step : *steps) {
      byStep[step.times.rank].add({&step, 1}, firstMeasured);
    }
  }
  std::vector<std::tuple<int, std::uint16_t, BucketSample>> open;
  for (auto& [number, of] : ranks_) {
    const int rank = number;
    measureBuckets(of.calls.sorted(), of.activity.activity(rank).computing, arrivals.of(rank),
                   byStep[rank], data, basis_.nsPerTick(),
                   [&](std::uint16_t bucket, const BucketSample& sample) {
                     if (sample.step < analysis.closed.next) {
                       addSample(closed_[{rank, bucket}], sample, firstMeasured);
                     } else {
                       open.emplace_back(rank, bucket, sample);
                     }
                   });
  }
  for (auto& [key, cell] : closed_) {
    cell.medians.settle();
  }
  std::map<std::pair<int, std::uint16_t>, MeasuredBucket> cells = closed_;
  for (const auto& [rank, bucket, sample] : open) {
    addSample(cells[{rank, bucket}], sample, firstMeasured);
  }
  forget(analysis.closed.next, analysis);
  std::vector<std::pair<int, RankCells>> all;
  for (auto& [key, cell] : cells) {
    if (all.empty() || all.back().first != key.first) {
      all.emplace_back(key.first, RankCells());
    }
    all.back().second.emplace_back(key.second, finishedCell(std::move(cell)));
  }
  BucketDelays delays = delaysOf(std::move(all));
  delays.costs = std::move(costs);
  return delays;
}

bool GrowingBucketDelays::add(int rank, const SpanRow& span) {
  OfRank& of = ranks_[rank];
  of.calls.add(span);
  return of.activity.add(span, basis_.nsPerTick()) &&
         (!isBucketsCommunication(span) || span.step >= next_);
}

/// Forgets what no step from `next` on depends on.
void GrowingBucketDelays::forget(std::uint32_t next, const RunAnalysis& analysis) {
  next_ = next;
  for (auto& [number, rank] : ranks_) {
    rank.calls.forget(next);
  }
  for (const auto& [number, steps] : analysis.stepRows.lists()) {
    const std::size_t open = firstOfStep(steps, next);
    OfRank& rank = ranks_[number];
    // From when on its activity is needed.
    std::uint64_t from = open == 0 ? 0 : steps[open - 1].endTicks;
    for (const BucketCalls::Call& call : rank.calls.sorted()) {
      from = std::min(from, call.inFlight.begin);
    }
    rank.activity.forget(from);
  }
}

}  // namespace lockstep::analysis
