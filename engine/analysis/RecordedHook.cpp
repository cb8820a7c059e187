#include "engine/analysis/RecordedHook.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/base/Try.h"
#include "engine/cost/HookCalls.h"
#include "engine/cost/Sample.h"

namespace lockstep::analysis {
namespace {

constexpr double kNsPerMs = 1e6;

base::Error noHook(std::string why) {
  return {base::ExitCode::kBadInput, std::move(why), ""};
}

/// The calls of a hook on buckets of the last layout, and what it does around steps.
struct HookSamples {
  cost::HookCalls calls;
  std::map<std::pair<int, std::uint32_t>, double> aroundNs;  // by rank and step

  HookSamples(const HookTimes& times, const trace::BucketsMessage& layout) {
    for (const HookCall& call : times.calls) {
      const double encodeNs = call.of(HookPhase::kEncode) * kNsPerMs;
      const double decodeNs = call.of(HookPhase::kDecode) * kNsPerMs;
      if (call.bucket == trace::kNoBucket) {
        aroundNs[{call.rank, call.step}] += encodeNs + decodeNs;
      } else if (call.step > layout.step && call.bucket < layout.buckets.size()) {
        const std::uint64_t bytes = layout.buckets[call.bucket].bytes;
        calls.encode.push_back({bytes, encodeNs, false});
        calls.decode.push_back({bytes, decodeNs, false});
      }
    }
  }
};

/// Adds how far the run is to be trusted that tells a hook's work; where it cannot be replayed,
/// what its calls differ by is all there is.
void addDoubt(const RecordedSteps& recorded, cost::HookWork& work) {
  cost::RecordedRun run = recordedRun(recorded.steps, recorded.settings);
  run.hook = work;
  const auto itself = cost::Forecaster::make(std::move(run));
  if (!itself.ok()) {
    return;
  }
  for (const cost::RankForecast& of : itself.value().own()) {
    work.runOffStepNs = std::max(work.runOffStepNs,
                                 std::hypot(of.replayedStepNs - of.measuredStepNs, of.driftStepNs));
    work.runOffExposedNs =
        std::max(work.runOffExposedNs,
                 std::hypot(of.replayedExposedNs - of.measuredExposedNs, of.driftExposedNs));
  }
}

}  // namespace

base::Result<cost::HookWork> hookWork(const RecordedSteps& recorded, const HookTimes& times) {
  const cost::RecordedRun run = recordedRun(recorded.steps, recorded.settings);
  cost::HookWork work;
  work.share = run.share;
  std::vector<cost::TransferSample> transfers;
  for (const cost::StepRecord& step : run.steps) {
    const auto more = cost::transferSamples(step, run.inFlight);
    transfers.insert(transfers.end(), more.begin(), more.end());
  }
  work.transfer = cost::lineThrough(transfers);
  if (!work.transfer) {
    return noHook("no transfer of a bucket was recorded by all ranks of the run with that hook");
  }
  if (recorded.settings.experiment.hook.name == "allreduce") {
    return work;
  }
  const HookSamples samples(times, recorded.layout);
  if (!cost::fitWork(samples.calls, work)) {
    return noHook("the run with that hook recorded nothing of what it does with buckets");
  }
  std::vector<double> around;
  for (const auto& [step, ns] : samples.aroundNs) {
    around.push_back(ns);
  }
  work.aroundStepNs = cost::median(std::move(around)).value_or(0);
  return work;
}

base::Result<RecordedHook> readRecordedHook(const std::filesystem::path& path) {
  const LastSteps last = LOCKSTEP_TRY(readLastSteps(path));
  const RecordedSteps recorded = LOCKSTEP_TRY(recordedSteps(last, path));
  const RunAnalysis analysis = analyse(last.data);
  cost::HookWork work = LOCKSTEP_TRY(hookWork(recorded, hookTimes(last.data, analysis)));
  addDoubt(recorded, work);
  return RecordedHook{recorded.settings, work};
}

base::Status changeHook(const RecordedSettings& settings, const RecordedHook& hook,
                        cost::StepChange& change) {
  if (hook.settings.worldSize != settings.worldSize) {
    return noHook(fmt::format("it has {} ranks, and the run with that hook {}", settings.worldSize,
                              hook.settings.worldSize));
  }
  change.hook = hook.work;
  // What its communication took says nothing of another link, nor of another backend.
  if (hook.settings.experiment.link != settings.experiment.link ||
      hook.settings.backend != settings.backend) {
    change.hook->transfer.reset();
  }
  return {};
}

}  // namespace lockstep::analysis
