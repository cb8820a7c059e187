#include "engine/simulate/SimulatedRun.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/base/Xxh64.h"
#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"

namespace lockstep::simulate {
namespace {

using trace::EventKind;

constexpr double kNsPerMs = 1e6;
constexpr double kFirstTick = 1e9;  // ticks are ns; the first second is left free

/// When a rank comes to the last bucket.
double lastBegun(const RecordedRanks& recorded, const StepView& view, std::size_t rank) {
  const std::size_t own = view.own[rank];
  return view.beginNs[rank] +
         view.stretch[rank] * recorded.beganNs[own * recorded.lanes + recorded.buckets - 1];
}

/// The first rank, the one in the middle and the latest, and those that were asked for.
std::vector<int> shownRanks(const Scaling& scaling, const SimulationSettings& settings,
                            std::vector<int> shown) {
  const auto count = static_cast<std::size_t>(settings.ranks);
  std::vector<double> late(count, 0);
  simulate(scaling.recorded(), scaling.noise(), settings, [&](const StepView& view) {
    for (std::size_t i = 0; i < count; ++i) {
      late[i] += lastBegun(scaling.recorded(), view, i);
    }
  });
  std::vector<int> byLateness(count);
  std::iota(byLateness.begin(), byLateness.end(), 0);
  std::stable_sort(byLateness.begin(), byLateness.end(), [&](int a, int b) {
    return late[static_cast<std::size_t>(a)] < late[static_cast<std::size_t>(b)];
  });
  shown.insert(shown.end(), {0, byLateness[count / 2], byLateness.back()});
  std::sort(shown.begin(), shown.end());
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  return shown;
}

class Writing {
 public:
  Writing(trace::RunFileWriter& file, const Scaling& scaling, const SimulatedRunFacts& facts,
          std::vector<int> shown)
      : file_(file), scaling_(scaling), facts_(facts), shown_(std::move(shown)) {}

  void writeFacts(const SimulationSettings& settings) {
    trace::RunInfo info;
    const std::string what = fmt::format(
        "simulated, not measured: {}, from {} steps of {} of run {}, seed {}",
        base::countedText(static_cast<std::uint64_t>(facts_.ranks), "rank"),
        scaling_.recorded().steps, scaling_.recorded().ranks, facts_.runId, settings.seed);
    const Network& network = settings.network;
    info.environment = {{"simulated", what},
                        {"simulated_from", facts_.runId},
                        {"simulated_ranks", std::to_string(facts_.ranks)},
                        {"simulated_recorded_ranks", std::to_string(scaling_.recorded().ranks)},
                        {"simulated_recorded_steps", std::to_string(scaling_.recorded().steps)},
                        {"simulated_seed", std::to_string(settings.seed)},
                        {"simulated_algorithm", std::string(name(settings.algorithm))},
                        {"simulated_ranks_per_node", std::to_string(network.ranksPerNode)},
                        {"simulated_link", linkText(network.link)},
                        {"simulated_inside", linkText(network.inside)},
                        {"simulated_shown", fmt::format("{}", fmt::join(shown_, " "))}};
    base::Xxh64 digest;
    for (const auto& [key, value] : info.environment) {
      digest.update(key + value);
    }
    // The same simulation has the same id.
    info.runId = fmt::format("simulated-{:016x}", digest.digest());
    info.name = fmt::format("{} on {}", facts_.name,
                            base::countedText(static_cast<std::uint64_t>(facts_.ranks), "rank"));
    info.kind = trace::RunKind::kSimulated;
    info.command = facts_.file;
    info.state = trace::RunState::kFinished;
    info.worldSize = static_cast<int>(shown_.size());
    info.plannedSteps = static_cast<std::uint32_t>(settings.steps);
    file_.setInfo(info);
    file_.addClock({0, 0, 1.0});
    file_.setParameters({facts_.parameters});
    trace::BucketsMessage layout = facts_.layout;
    layout.step = 0;
    file_.addLayout(layout);
    for (std::size_t number = 0; number < shown_.size(); ++number) {
      trace::RankInfo rank;
      rank.rank = static_cast<int>(number);
      rank.state = "finished";
      rank.environment["backend"] = "simulated";
      rank.environment["simulated_rank"] = std::to_string(shown_[number]);
      file_.setRank(rank);
      file_.addTrack({stepTrack(number), rank.rank, "step"});
      file_.addTrack({stepTrack(number) + 1, rank.rank, "communication"});
    }
    if (shown_.size() < static_cast<std::size_t>(facts_.ranks)) {
      trace::ProblemRow problem;
      problem.severity = "warning";
      problem.text = fmt::format(
          "this run is simulated, and of its {} ranks {} are shown, as ranks 0 to {}: {}; who came "
          "last "
          "to a collective is mostly one of the others, and the counters all_ranks.* of rank 0 are "
          "of "
          "all of them",
          base::countText(static_cast<std::uint64_t>(facts_.ranks)), shown_.size(),
          shown_.size() - 1, fmt::join(shown_, ", "));
      file_.addProblem(problem);
    }
  }

  void writeStep(const StepView& view) {
    for (std::size_t number = 0; number < shown_.size(); ++number) {
      writeRank(view, number);
    }
    const RecordedRanks& recorded = scaling_.recorded();
    double mean = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < view.beginNs.size(); ++i) {
      mean += lastBegun(recorded, view, i) / static_cast<double>(view.beginNs.size());
      last = lastBegun(recorded, view, i) > lastBegun(recorded, view, last) ? i : last;
    }
    ends_.push_back(ticks(view.endNs[0]));
    metric("last_rank", view.step, static_cast<double>(last));
    metric("last_after_mean_ms", view.step, (lastBegun(recorded, view, last) - mean) / kNsPerMs);
  }

  void writeSums(const SimulatedSteps& steps) {
    for (std::size_t step = 0; step < steps.stepNs.size(); ++step) {
      metric("step_ms", step, steps.stepNs[step] / kNsPerMs);
      metric("exposed_ms", step, steps.exposedNs[step] / kNsPerMs);
      metric("alone_ms", step, steps.aloneNs[step] / kNsPerMs);
    }
  }

 private:
  /// As --link takes it: LATENCY,BANDWIDTH in microseconds and Gbit/s; 0: without limit.
  static std::string linkText(const LinkCost& link) {
    return fmt::format("{:.6g},{:.6g}", link.latencyNs / 1000,
                       link.nsPerByte > 0 ? 8 / link.nsPerByte : 0);
  }

  static std::int32_t stepTrack(std::size_t number) {
    return static_cast<std::int32_t>(2 * number);
  }

  static std::uint64_t ticks(double ns) {
    return static_cast<std::uint64_t>(std::llround(ns + kFirstTick));
  }

  void metric(const char* name, std::size_t step, double value) {
    trace::MetricRow row;
    row.name = std::string("all_ranks.") + name;
    row.step = static_cast<std::uint32_t>(step);
    row.ticks = ends_[step];
    row.value = value;
    file_.addMetric(row);
  }

  /// Adds an event of the step that is being written, on the rank's step thread or behind it.
  void add(EventKind kind, double beginNs, double endNs, std::uint16_t bucket = trace::kNoBucket,
           std::uint64_t value = 0, std::uint16_t detail = 0) {
    trace::Event event;
    event.startTicks = ticks(beginNs);
    event.durationTicks = ticks(std::max(beginNs, endNs)) - event.startTicks;
    event.kind = static_cast<std::uint16_t>(kind);
    event.step = step_;
    event.bucket = bucket;
    event.value = value;
    event.detail = detail;
    file_.addEvent(track_ + (kind == EventKind::kCollective ? 1 : 0), event);
  }

  void writeRank(const StepView& view, std::size_t number) {
    const RecordedRanks& recorded = scaling_.recorded();
    const auto i = static_cast<std::size_t>(shown_[number]);
    const std::size_t own = view.own[i];
    const std::size_t r = own / recorded.steps;
    const cost::StepRecord& step = scaling_.steps()[own % recorded.steps];
    const cost::RankStep& rank = step.ranks[r];
    const OwnStep& of = recorded.own[own];
    const double begin = view.beginNs[i];
    const double stretch = view.stretch[i];
    // Where a moment of the recorded step lies in the stretched one.
    const auto at = [&](double ns) { return begin + stretch * (ns - rank.beginNs); };
    track_ = stepTrack(number);
    step_ = static_cast<std::uint32_t>(view.step);

    for (std::uint32_t parameter = 0; parameter < rank.filledNs.size(); ++parameter) {
      if (!std::isnan(rank.filledNs[parameter])) {
        const double filled = at(rank.filledNs[parameter]);
        add(EventKind::kGradientReady, filled, filled, trace::kNoBucket, parameter);
      }
    }
    double free = begin + stretch * std::max(of.waitsNs, of.lastLaunchNs);
    const double waits = free;
    for (std::size_t b = 0; b < recorded.buckets; ++b) {
      const auto bucket = static_cast<std::uint16_t>(b);
      const auto bytes = static_cast<std::uint64_t>(recorded.bytes[b]);
      const double full = at(cost::fullNs(rank, step.buckets[b].parameters));
      const double began = begin + stretch * recorded.beganNs[own * recorded.lanes + b];
      const double ended = view.endedNs[b];
      add(EventKind::kBucketReady, full, full, bucket, bytes);
      add(EventKind::kBucketLaunched, began, began, bucket, bytes);
      add(EventKind::kCollective, began, ended, bucket,
          trace::packCollective(view.step * recorded.buckets + b, bytes),
          trace::packOperation(trace::Operation::kAllreduce));
      const double taken = std::max(free, ended + recorded.resultDelayNs[r]);
      free = taken + recorded.copyOutNsPerByte[r] * recorded.bytes[b];
      add(EventKind::kCopyOut, taken, free, bucket, bytes);
    }
    const double backward = std::isnan(rank.backwardBeginNs) ? begin : at(rank.backwardBeginNs);
    add(EventKind::kForward, begin, backward);
    add(EventKind::kBackward, backward, free);
    add(EventKind::kFinalize, waits, free);
    add(EventKind::kOptimizer, free, view.endNs[i]);
    add(EventKind::kStep, begin, view.endNs[i]);
  }

  trace::RunFileWriter& file_;
  const Scaling& scaling_;
  const SimulatedRunFacts& facts_;
  std::vector<int> shown_;
  std::vector<std::uint64_t> ends_;  // of rank 0's steps, in ticks
  std::int32_t track_ = 0;
  std::uint32_t step_ = 0;
};

}  // namespace

base::Result<std::vector<int>> writeSimulatedRun(const Scaling& scaling,
                                                 const SimulatedRunFacts& facts) {
  const SimulationSettings settings = scaling.settingsFor(facts.ranks);
  const std::vector<int> shown = shownRanks(scaling, settings, facts.shown);
  const auto file = LOCKSTEP_TRY(trace::RunFileWriter::create(facts.path));
  Writing writing(*file, scaling, facts, shown);
  writing.writeFacts(settings);
  // The same seed draws the same ranks as above.
  writing.writeSums(simulate(scaling.recorded(), scaling.noise(), settings,
                             [&](const StepView& view) { writing.writeStep(view); }));
  LOCKSTEP_TRY(file->finish());
  return shown;
}

}  // namespace lockstep::simulate
