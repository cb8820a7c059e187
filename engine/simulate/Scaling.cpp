#include "engine/simulate/Scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/cost/BlockBootstrap.h"
#include "engine/cost/Sample.h"
#include "engine/simulate/Draws.h"

namespace lockstep::simulate {
namespace {

constexpr std::size_t kMostDraws = 100;
constexpr std::size_t kFewestDraws = 20;
// Ranks x buckets x steps of all draws for one number of ranks: about a second.
constexpr std::size_t kWorkOfDraws = 500'000'000;
constexpr double kStepMayMiss = 0.15;      // by the simulation of the recorded ranks
constexpr double kLostWorthNaming = 0.05;  // of a step
constexpr std::uint64_t kSeedOfDraws = 0x5EED'0F'D2A75ULL;

base::Error cannotTell(std::string why) {
  return {base::ExitCode::kBadInput, std::move(why), ""};
}

double middle(const std::vector<double>& values) {
  return cost::median(values).value_or(0);
}

std::vector<std::size_t> upTo(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

/// Whether all is known that another hook takes.
base::Status hooksAreKnown(const ScalingQuestion& question) {
  if (!question.hook) {
    return {};
  }
  if (!question.run.hook) {
    return cannotTell(
        "its own hook works on each bucket, and what that takes by itself is not known");
  }
  if (!question.share || !question.hook->share) {
    return cannotTell(
        fmt::format("{} makes more of a bucket than one allreduce of always the same "
                    "part, and what that takes among more ranks is not known",
                    question.share ? "that hook" : "its own hook"));
  }
  return {};
}

/// The means over the ranks of what was measured.
SimulatedSteps measuredSteps(const std::vector<cost::StepRecord>& steps,
                             const RecordedRanks& recorded) {
  SimulatedSteps measured;
  const auto ranks = static_cast<double>(recorded.ranks);
  for (std::size_t t = 0; t < steps.size(); ++t) {
    const cost::StepOutcome outcome = cost::measuredOutcome(steps[t]);
    double step = 0;
    double exposed = 0;
    double alone = 0;
    for (std::size_t r = 0; r < recorded.ranks; ++r) {
      const OwnStep& own = recorded.own[r * recorded.steps + t];
      step += outcome.ranks[r].stepNs / ranks;
      exposed += outcome.ranks[r].exposedNs / ranks;
      alone += (own.waitsNs + own.afterNs) / ranks;
    }
    measured.stepNs.push_back(step);
    measured.exposedNs.push_back(exposed);
    measured.aloneNs.push_back(alone);
  }
  return measured;
}

RanksForecast figuresOf(int ranks, const SimulatedSteps& steps) {
  RanksForecast of;
  of.ranks = ranks;
  of.stepNs.value = middle(steps.stepNs);
  of.exposedNs.value = middle(steps.exposedNs);
  of.efficiency.value = std::min(middle(steps.aloneNs) / of.stepNs.value, 1.0);
  for (cost::Estimate* one : {&of.stepNs, &of.exposedNs, &of.efficiency}) {
    one->low = one->high = one->value;
  }
  return of;
}

/// The algorithm that carries most of the bytes.
Algorithm mostUsed(const RecordedRanks& recorded, const SimulationSettings& settings) {
  const CollectiveModel model(settings.network, settings.ranks, settings.algorithm);
  std::vector<double> bytes(4, 0);
  for (const double one : recorded.bytes) {
    bytes[static_cast<std::size_t>(model.allreduce(settings.share * one).by)] += one;
  }
  return static_cast<Algorithm>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
}

/// Where a falling series crosses `bound`, between ranks in proportion to their logarithms.
std::optional<double> crossing(const std::vector<RanksForecast>& rows, double cost::Estimate::*end,
                               double bound) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double here = rows[i].efficiency.*end;
    if (here >= bound) {
      continue;
    }
    if (i == 0) {
      return rows[i].ranks;
    }
    const double before = rows[i - 1].efficiency.*end;
    const double part = (before - bound) / (before - here);
    return rows[i - 1].ranks *
           std::pow(static_cast<double>(rows[i].ranks) / rows[i - 1].ranks, part);
  }
  return std::nullopt;
}

}  // namespace

/// What is fitted to steps that were drawn anew.
struct Scaling::Drawn {
  RankNoise noise;
  Network network;
  cost::TransferCost cost;
  std::uint64_t seed = 0;
};

std::string_view name(Bound bound) {
  switch (bound) {
    case Bound::kBandwidth:
      return "bandwidth";
    case Bound::kLatency:
      return "latency";
    case Bound::kStragglers:
      return "stragglers' jitter";
    case Bound::kOwnWork:
      break;
  }
  return "own work";
}

base::Result<Scaling> Scaling::make(ScalingQuestion question) {
  if (question.run.steps.size() < cost::kFewestForBootstrap) {
    return cannotTell(fmt::format(
        "only {} of its steps with these buckets {} recorded whole by all ranks, and {} are needed "
        "to tell how its ranks vary",
        question.run.steps.size(), question.run.steps.size() == 1 ? "was" : "were",
        cost::kFewestForBootstrap));
  }
  if (const base::Status told = hooksAreKnown(question); !told.ok()) {
    return told.error();
  }
  auto forecaster = cost::Forecaster::make(question.run);
  if (!forecaster.ok()) {
    return forecaster.error();
  }
  Scaling made(std::move(question), std::move(forecaster).value());
  made.recorded_ = recordedRanks(made.steps(), made.forecaster_.habits());
  made.noise_ = made.noiseOf(made.recorded_);
  made.network_ = made.networkWith(made.fit(), 1);
  made.measure();
  const double missed = std::abs(made.simulated_.stepNs.value - made.measured_.stepNs.value);
  if (missed > kStepMayMiss * made.measured_.stepNs.value) {
    return cannotTell(
        fmt::format("a simulation of its own ranks misses what was measured: steps of {} where {} "
                    "were measured",
                    base::durationText(made.simulated_.stepNs.value),
                    base::durationText(made.measured_.stepNs.value)));
  }
  if (made.question_.hook) {
    cost::StepChange change;
    change.hook = made.question_.hook;
    made.recorded_ = recordedRanks(made.steps(), made.forecaster_.habitsOf(change));
    made.noise_ = made.noiseOf(made.recorded_);
  }
  return made;
}

RankNoise Scaling::noiseOf(const RecordedRanks& recorded) const {
  return fitNoise(recorded.ownWork(), upTo(recorded.steps), question_.hosts, upTo(recorded.ranks));
}

/// The recorded ranks as they were, and as the simulation has them: a ring on their own links.
void Scaling::measure() {
  const int ranks = static_cast<int>(recorded_.ranks);
  measured_ = figuresOf(ranks, measuredSteps(steps(), recorded_));
  SimulationSettings settings = settingsFor(ranks);
  settings.algorithm = Algorithm::kRing;
  settings.network = networkOf({fit(), question_.settings, static_cast<int>(recorded_.ranks)});
  settings.share = fit().bySettings ? question_.share.value_or(1) : 1;
  simulated_ = figuresOf(ranks, simulate(recorded_, noise_, settings));
}

Network Scaling::networkWith(const cost::TransferFit& fit, double hopShare) const {
  Network network =
      networkOf({fit, question_.settings, static_cast<int>(recorded_.ranks)}, hopShare);
  network.ranksPerNode = question_.ranksPerNode.value_or(network.ranksPerNode);
  network.link = question_.link.value_or(network.link);
  return network;
}

SimulationSettings Scaling::settingsFor(int ranks) const {
  SimulationSettings settings;
  settings.ranks = ranks;
  settings.network = network_;
  settings.algorithm = question_.algorithm;
  settings.inFlight = forecaster_.line().inFlight;
  settings.noticeNs = fit().cost.noticeNs;
  const double own = question_.share.value_or(1);
  const double share = question_.hook ? *question_.hook->share : own;
  // A time a byte that was fitted to the run is one of a byte of a bucket, of which its own hook
  // sent a share.
  settings.share = fit().bySettings || question_.link ? share : share / own;
  settings.steps = question_.steps;
  settings.seed = question_.seed;
  return settings;
}

std::vector<Scaling::Drawn> Scaling::draw() const {
  const OwnWork work = recorded_.ownWork();
  std::mt19937 random(static_cast<std::mt19937::result_type>(question_.seed ^ kSeedOfDraws));
  Draws draws(question_.seed, kSeedOfDraws);
  std::vector<Drawn> all;
  for (std::size_t number = 0; number < kMostDraws; ++number) {
    const auto drawn = cost::drawBlocks(recorded_.steps, random);
    std::vector<std::size_t> ranks;
    for (std::size_t r = 0; r < recorded_.ranks; ++r) {
      ranks.push_back(draws.below(recorded_.ranks));
    }
    std::vector<cost::TransferSample> samples;
    for (const std::size_t step : drawn) {
      const auto more = cost::transferSamples(steps()[step], forecaster_.line().inFlight);
      samples.insert(samples.end(), more.begin(), more.end());
    }
    const auto refitted = cost::fitTransfers(samples, question_.run.known, question_.run.probes);
    // Steps that do not tell the cost by themselves leave that of all.
    const cost::TransferFit& fitted = refitted.ok() ? refitted.value() : fit();
    all.push_back({fitNoise(work, drawn, question_.hosts, ranks), networkWith(fitted, draws.part()),
                   fitted.cost, number + 1});
  }
  return all;
}

std::vector<RanksForecast> Scaling::forecast() const {
  const std::vector<Drawn> drawn = draw();
  std::vector<RanksForecast> all;
  for (const int ranks : question_.ranks) {
    all.push_back(forecast(ranks, drawn));
  }
  return all;
}

RanksForecast Scaling::forecast(int ranks, const std::vector<Drawn>& drawn) const {
  const SimulationSettings settings = settingsFor(ranks);
  RanksForecast of = figuresOf(ranks, simulate(recorded_, noise_, settings));
  std::vector<double> steps;
  std::vector<double> exposed;
  const std::size_t work =
      static_cast<std::size_t>(ranks) * recorded_.lanes * (question_.steps + 1);
  const std::size_t count = std::clamp(kWorkOfDraws / work, kFewestDraws, kMostDraws);
  for (std::size_t number = 0; number < std::min(count, drawn.size()); ++number) {
    SimulationSettings other = settings;
    other.network = drawn[number].network;
    other.noticeNs = drawn[number].cost.noticeNs;
    other.seed = settings.seed + (drawn[number].seed << 32);
    const SimulatedSteps simulated = simulate(recorded_, drawn[number].noise, other);
    steps.push_back(middle(simulated.stepNs));
    exposed.push_back(middle(simulated.exposedNs));
  }
  double driftStep = 0;
  double driftExposed = 0;
  for (const cost::RankForecast& own : forecaster_.own()) {
    driftStep = std::max(driftStep, own.driftStepNs);
    driftExposed = std::max(driftExposed, own.driftExposedNs);
  }
  const cost::HookWork hook = question_.hook.value_or(cost::HookWork{});
  const double hookOff = hook.offNs * static_cast<double>(recorded_.buckets);
  const double two = question_.hook ? std::sqrt(2.0) : 1;  // runs that the forecast rests on
  const double aloneNs = of.efficiency.value * of.stepNs.value;
  of.stepNs = cost::estimateOf(
      of.stepNs.value, steps,
      {std::abs(simulated_.stepNs.value - measured_.stepNs.value), simulated_.stepNs.value,
       driftStep,
       std::hypot(two * cost::kRunsDifferStep * of.stepNs.value, hookOff, hook.runOffStepNs)});
  of.exposedNs = cost::estimateOf(
      of.exposedNs.value, exposed,
      {std::abs(simulated_.exposedNs.value - measured_.exposedNs.value),
       std::max(simulated_.exposedNs.value, cost::kWorthSpeakingOf * simulated_.stepNs.value),
       driftExposed,
       std::hypot(two * cost::kRunsDifferExposed * of.stepNs.value,
                  cost::kOfHowFarItMoves * (of.exposedNs.value - simulated_.exposedNs.value),
                  std::hypot(hookOff, hook.runOffExposedNs))});
  of.efficiency.low = aloneNs / of.stepNs.high;
  of.efficiency.high = std::min(aloneNs / of.stepNs.low, 1.0);

  const auto without = [&](const SimulationSettings& other) {
    return std::max(of.stepNs.value - middle(simulate(recorded_, noise_, other).stepNs), 0.0);
  };
  SimulationSettings other = settings;
  other.network.link.nsPerByte = other.network.inside.nsPerByte = 0;
  of.bandwidthNs = without(other);
  other = settings;
  other.network.link.latencyNs = other.network.inside.latencyNs = other.network.overheadNs = 0;
  other.noticeNs = 0;
  of.latencyNs = without(other);
  other = settings;
  other.allAlike = true;
  of.stragglersNs = without(other);
  if (of.stepNs.value - aloneNs > kLostWorthNaming * of.stepNs.value) {
    const double most = std::max({of.bandwidthNs, of.latencyNs, of.stragglersNs});
    of.bound = most == of.stragglersNs ? Bound::kStragglers
               : most == of.latencyNs  ? Bound::kLatency
                                       : Bound::kBandwidth;
  }
  of.by = mostUsed(recorded_, settings);
  of.extrapolated = static_cast<std::size_t>(ranks) > recorded_.ranks;
  of.beyondSample = static_cast<std::size_t>(ranks) > recorded_.own.size();
  return of;
}

BreakingPoint breakingPoint(const std::vector<RanksForecast>& rows, double efficiency) {
  BreakingPoint point;
  point.efficiency = efficiency;
  point.ranks = crossing(rows, &cost::Estimate::value, efficiency);
  point.low = crossing(rows, &cost::Estimate::low, efficiency);
  point.high = crossing(rows, &cost::Estimate::high, efficiency);
  const auto first = std::find_if(rows.begin(), rows.end(), [&](const RanksForecast& row) {
    return row.efficiency.value < efficiency;
  });
  point.bound = first == rows.end() ? Bound::kOwnWork : first->bound;
  return point;
}

}  // namespace lockstep::simulate
