#include "engine/cost/Forecaster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "engine/base/InHalves.h"
#include "engine/base/NumberText.h"
#include "engine/cost/BlockBootstrap.h"
#include "engine/cost/ChangedLine.h"
#include "engine/cost/Sample.h"

namespace lockstep::cost {
namespace {

// The numbers of Note [The interval of a forecast]; `tests/bench/run forecasts` counts how many
// runs its intervals hold.
constexpr std::size_t kFewestSteps = 5;
constexpr std::size_t kMostDraws = 100;
constexpr std::size_t kFewestDraws = 20;
constexpr std::size_t kRankStepsDrawn = 40'000;  // a forecast ends within a second
constexpr double kBeyondMost = 4;
constexpr double kFlatBeyondMost = 1.25;
constexpr double kExposedMayMiss = 0.1;  // of itself
constexpr double kExposedMayMissOfStep = 0.03;
constexpr double kStepMayMiss = 0.05;
constexpr double kNsPerMs = 1e6;

base::Error cannotTell(std::string why) {
  return {base::ExitCode::kBadInput, std::move(why), ""};
}

std::vector<std::size_t> allOf(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

/// Exposed time and step time of each rank, over steps.
struct OutcomeSeries {
  std::vector<std::vector<double>> exposed, step;

  explicit OutcomeSeries(std::size_t ranks) : exposed(ranks), step(ranks) {}

  void add(const StepOutcome& outcome) {
    for (std::size_t r = 0; r < outcome.ranks.size(); ++r) {
      exposed[r].push_back(outcome.ranks[r].exposedNs);
      step[r].push_back(outcome.ranks[r].stepNs);
    }
  }
};

/// How long a hook works in a step on one rank.
double hookWorkNs(const HookWork& hook, const std::vector<PlannedBucket>& plan) {
  double ns = 0;
  for (const PlannedBucket& bucket : plan) {
    ns += hook.encode.ns(bucket.bytes) + hook.decode.ns(bucket.bytes);
  }
  return ns;
}

double computingNs(const StepRecord& step) {
  double ns = 0;
  for (const RankStep& rank : step.ranks) {
    for (const Stretch& stretch : rank.computing) {
      ns += stretch.end - stretch.begin;
    }
  }
  return ns;
}

Estimate movedBy(const Estimate& estimate, double ns) {
  return {estimate.value + ns, estimate.low + ns, estimate.high + ns};
}

/// How far the medians of the thirds of a series are apart.
double driftOf(const std::vector<double>& series) {
  constexpr std::size_t kParts = 3;
  std::vector<double> medians;
  for (std::size_t part = 0; part < kParts; ++part) {
    const auto at = [&](std::size_t number) {
      return series.begin() + static_cast<std::ptrdiff_t>(number * series.size() / kParts);
    };
    medians.push_back(median({at(part), at(part + 1)}).value_or(0));
  }
  const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
  return *most - *least;
}

}  // namespace

base::Result<Forecaster> Forecaster::make(RecordedRun run) {
  if (run.steps.size() < kFewestSteps) {
    return cannotTell(fmt::format(
        "only {} of its steps with these buckets {} recorded whole by all ranks, and {} are "
        "needed: every gradient, and the communication of every bucket among two ranks or more",
        run.steps.size(), run.steps.size() == 1 ? "was" : "were", kFewestSteps));
  }
  Forecaster made;
  made.run_ = std::move(run);
  const auto fitted = fitTransfers(made.samplesOf(allOf(made.run_.steps.size())), made.run_.known,
                                   made.run_.probes);
  if (!fitted.ok()) {
    return fitted.error();
  }
  made.fit_ = fitted.value();
  made.backend_ = made.run_.shaped ? backendOf(made.run_) : std::nullopt;
  made.line_ = {made.fit_.cost, made.run_.inFlight, {}};
  made.habits_ = rankHabits(made.run_.steps);
  OutcomeSeries measured(made.habits_.size());
  OutcomeSeries replayed(made.habits_.size());
  const auto ownPlan = planOf(made.run_.steps.front());
  // The same way as a forecast's: what a replay cannot know shows here as a difference from what
  // was measured, and says how far to trust one of other buckets.
  ReplayedSteps again(made.habits_, made.line_, ownPlan);
  for (const StepRecord& step : made.run_.steps) {
    measured.add(measuredOutcome(step));
    replayed.add(again.next(step));
  }
  for (std::size_t r = 0; r < made.habits_.size(); ++r) {
    RankForecast& own = made.own_.emplace_back();
    own.rank = made.run_.steps.front().ranks[r].rank;
    own.measuredExposedNs = *median(measured.exposed[r]);
    own.measuredStepNs = *median(measured.step[r]);
    own.replayedExposedNs = *median(replayed.exposed[r]);
    own.replayedStepNs = *median(replayed.step[r]);
    own.driftExposedNs = driftOf(measured.exposed[r]);
    own.driftStepNs = driftOf(measured.step[r]);
  }
  if (const base::Status same = made.replaysItself(); !same.ok()) {
    return same.error();
  }
  return made;
}

std::vector<TransferSample> Forecaster::samplesOf(const std::vector<std::size_t>& steps) const {
  std::vector<TransferSample> samples;
  for (const std::size_t step : steps) {
    const auto more = transferSamples(run_.steps[step], run_.inFlight);
    samples.insert(samples.end(), more.begin(), more.end());
  }
  return samples;
}

base::Status Forecaster::replaysItself() const {
  for (const RankForecast& own : own_) {
    const double exposedMissed = std::abs(own.replayedExposedNs - own.measuredExposedNs);
    if (exposedMissed > std::max(kExposedMayMiss * own.measuredExposedNs,
                                 kExposedMayMissOfStep * own.measuredStepNs)) {
      return cannotTell(fmt::format(
          "a replay of its own steps misses what was measured: {} ms of exposed time on rank "
          "{} where {} ms were measured",
          base::msText(own.replayedExposedNs / kNsPerMs), own.rank,
          base::msText(own.measuredExposedNs / kNsPerMs)));
    }
    if (std::abs(own.replayedStepNs - own.measuredStepNs) > kStepMayMiss * own.measuredStepNs) {
      return cannotTell(fmt::format(
          "a replay of its own steps misses what was measured: steps of {} ms on rank {} where "
          "{} ms were measured",
          base::msText(own.replayedStepNs / kNsPerMs), own.rank,
          base::msText(own.measuredStepNs / kNsPerMs)));
    }
  }
  return {};
}

std::optional<std::uint64_t> Forecaster::mostBytes() const {
  if (fit_.bySettings) {
    return std::nullopt;
  }
  // A flat line, where more bytes took no longer, says nothing of larger transfers: a bandwidth
  // must show somewhere.
  const double beyond = fit_.cost.nsPerByte > 0 ? kBeyondMost : kFlatBeyondMost;
  return static_cast<std::uint64_t>(beyond * static_cast<double>(fit_.mostBytes));
}

base::Status Forecaster::speaksOf(const std::vector<PlannedBucket>& plan) const {
  const auto largest = std::max_element(
      plan.begin(), plan.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  const auto most = mostBytes();
  if (!most || largest == plan.end() || largest->bytes <= *most) {
    return {};
  }
  return cannotTell(
      fmt::format("{} was the most that it moved at once{}, and {} are asked for",
                  base::bytesText(static_cast<double>(fit_.mostBytes)),
                  fit_.cost.nsPerByte > 0 ? "" : ", more bytes took no longer than fewer",
                  base::bytesText(static_cast<double>(largest->bytes))));
}

double Forecaster::middleBytes() const {
  std::vector<double> bytes;
  for (const BucketRecord& bucket : run_.steps.front().buckets) {
    bytes.push_back(static_cast<double>(bucket.bytes));
  }
  return median(std::move(bytes)).value_or(0);
}

base::Result<Line> Forecaster::lineOf(const StepChange& change) const {
  return changedLine(run_, fit_, backend_, change);
}

std::vector<RankHabits> Forecaster::habitsOf(const StepChange& change) const {
  return changedHabits(habits_, run_.hook.value_or(HookWork{}), middleBytes(), change);
}

/// Returns by how much longer a step takes with a change than its replay says, where cores are
/// short: beyond what the run's own steps of `ownStepNs` were held up.
double Forecaster::heldUp(const StepChange& change, const std::vector<PlannedBucket>& plan,
                          double ownStepNs, double stepNs) const {
  // What of its work a rank does not do without its excess is not known.
  if (!run_.cores || change.without) {
    return 0;
  }
  const HookWork ownHook = run_.hook.value_or(HookWork{});
  const double ownHookNs = hookWorkNs(ownHook, planOf(run_.steps.front()));
  const double besides = run_.cores->busy * ownStepNs - run_.cores->ranks * ownHookNs;
  double changed = besides;
  if (change.computeFactor < 1) {
    // At most all of computing was a processor's: so much of the work is gone.
    std::vector<double> computing;
    for (const StepRecord& step : run_.steps) {
      computing.push_back(computingNs(step));
    }
    changed -= (1 - change.computeFactor) * median(std::move(computing)).value_or(0);
  }
  return std::max(
      heldUpNs(*run_.cores, stepNs, changed, hookWorkNs(change.hook.value_or(ownHook), plan)) -
          heldUpNs(*run_.cores, ownStepNs, besides, ownHookNs),
      0.0);
}

base::Result<double> Forecaster::replayedStepNs(const StepChange& change) const {
  const auto plan = change.buckets.value_or(planOf(run_.steps.front()));
  if (const base::Status speaks = speaksOf(plan); !speaks.ok()) {
    return speaks.error();
  }
  const auto line = lineOf(change);
  if (!line.ok()) {
    return line.error();
  }
  const auto habits = habitsOf(change);
  ReplayedSteps replayed(habits, line.value(), plan);
  double sum = 0;
  for (const StepRecord& step : run_.steps) {
    for (const RankOutcome& rank : replayed.next(step, changedStep(step, change)).ranks) {
      sum += rank.stepNs;
    }
  }
  const double mean = sum / static_cast<double>(run_.steps.size() * habits_.size());
  double own = 0;
  for (const RankForecast& rank : own_) {
    own += rank.replayedStepNs / static_cast<double>(own_.size());
  }
  return mean + heldUp(change, plan, own, mean);
}

base::Result<std::vector<RankForecast>> Forecaster::forecast(const std::vector<PlannedBucket>& plan,
                                                             double share) const {
  StepChange change;
  change.buckets = plan;
  change.bytesTimes = share;
  return forecast(change);
}

base::Result<std::vector<RankForecast>> Forecaster::forecast(const StepChange& change) const {
  const auto plan = change.buckets.value_or(planOf(run_.steps.front()));
  if (const base::Status speaks = speaksOf(plan); !speaks.ok()) {
    return speaks.error();
  }
  const auto changed = lineOf(change);
  if (!changed.ok()) {
    return changed.error();
  }
  const auto habits = habitsOf(change);
  std::vector<StepRecord> steps;
  for (const StepRecord& step : run_.steps) {
    steps.push_back(changedStep(step, change));
  }
  const std::size_t ranks = habits_.size();
  OutcomeSeries replayed(ranks);
  ReplayedSteps planned(habits, changed.value(), plan);
  for (std::size_t step = 0; step < steps.size(); ++step) {
    replayed.add(planned.next(run_.steps[step], steps[step]));
  }
  const std::size_t draws =
      std::clamp(kRankStepsDrawn / (run_.steps.size() * ranks), kFewestDraws, kMostDraws);
  std::vector<std::vector<double>> drawnExposed(ranks, std::vector<double>(draws));
  std::vector<std::vector<double>> drawnStep(ranks, std::vector<double>(draws));
  std::mt19937 random(1);
  std::vector<std::vector<std::size_t>> drawnNumbers;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    drawnNumbers.push_back(drawBlocks(run_.steps.size(), random));
  }
  const auto replay = [&](std::size_t draw) {
    const std::vector<std::size_t>& numbers = drawnNumbers[draw];
    // The cost is fitted anew to each draw, since the doubt of a forecast is mostly that of the
    // line. Steps that are drawn may all be of one size: then the line of all steps stands.
    const auto fitted = fitTransfers(samplesOf(numbers), run_.known, run_.probes);
    const auto line = fitted.ok() ? changedLine(run_, fitted.value(), backend_, change) : changed;
    OutcomeSeries drawn(ranks);
    ReplayedSteps again(habits, line.ok() ? line.value() : changed.value(), plan);
    for (const std::size_t number : numbers) {
      drawn.add(again.next(run_.steps[number], steps[number]));
    }
    for (std::size_t r = 0; r < ranks; ++r) {
      drawnExposed[r][draw] = *median(std::move(drawn.exposed[r]));
      drawnStep[r][draw] = *median(std::move(drawn.step[r]));
    }
  };
  base::inHalves(draws, 2, [&](std::size_t from, std::size_t to) {
    for (std::size_t draw = from; draw < to; ++draw) {
      replay(draw);
    }
  });
  const HookWork hook = change.hook.value_or(HookWork{});
  const double hookOff = hook.offNs * static_cast<double>(plan.size());
  std::vector<RankForecast> forecasts = own_;
  for (std::size_t r = 0; r < ranks; ++r) {
    RankForecast& of = forecasts[r];
    const double exposed = *median(replayed.exposed[r]);
    const double step = *median(replayed.step[r]);
    const auto beyond = [&](double moved, double runOff, double runsDiffer) {
      const double ofHook = change.hook ? std::hypot(hookOff, runOff, runsDiffer) : 0.0;
      return std::hypot(runsDiffer, std::hypot(kOfHowFarItMoves * moved, ofHook), of.heldUpNs / 2);
    };
    // Its threads wait for cores while buckets are in flight: none of that is computing.
    of.heldUpNs = heldUp(change, plan, of.replayedStepNs, step);
    const Estimate exposedNs = estimateOf(
        exposed, drawnExposed[r],
        {std::abs(of.replayedExposedNs - of.measuredExposedNs),
         // Exposed time of next to nothing would make its miss count a thousand times over.
         std::max(of.replayedExposedNs, kWorthSpeakingOf * of.replayedStepNs), of.driftExposedNs,
         beyond(exposed - of.replayedExposedNs, hook.runOffExposedNs, kRunsDifferExposed * step)});
    of.exposedNs = movedBy(exposedNs, of.heldUpNs);
    const Estimate stepNs = estimateOf(
        step, drawnStep[r],
        {std::abs(of.replayedStepNs - of.measuredStepNs), of.replayedStepNs, of.driftStepNs,
         beyond(step - of.replayedStepNs, hook.runOffStepNs, kRunsDifferStep * step)});
    of.stepNs = movedBy(stepNs, of.heldUpNs);
  }
  return forecasts;
}

}  // namespace lockstep::cost
