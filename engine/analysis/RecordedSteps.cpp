#include "engine/analysis/RecordedSteps.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/analysis/RunCores.h"
#include "engine/analysis/RunData.h"
#include "engine/base/InHalves.h"
#include "engine/base/Try.h"
#include "engine/cost/LinkSettings.h"
#include "engine/cost/Probe.h"
#include "engine/experiment/Parse.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"
#include "engine/trace/WholeRun.h"

namespace lockstep::analysis {
namespace {

// More of them make medians no steadier.
constexpr std::uint32_t kMostSteps = 64;

base::Error cannotRead(const std::filesystem::path& path, std::string why) {
  return {base::ExitCode::kBadInput, std::move(why), path.string()};
}

std::size_t backendInFlight(const RecordedSettings& settings) {
  return settings.backend == "gloo" ? 2 : 1;  // its workers (gloo::Dispatcher)
}

bool isAnalysed(trace::EventKind kind) {
  return run::has(kind, run::kAnalysed);
}

/// The last steps of which all is there.
std::set<std::uint32_t> lastWholeSteps(const RunData& data, int worldSize) {
  const std::uint32_t last = data.lastStep();
  const std::set<std::uint32_t> left = data.stepsNotWhole();
  std::set<std::uint32_t> steps;
  std::optional<std::uint32_t> before;  // of the span before: the next is likely of it too
  // Where few steps are whole, the last of those may be anywhere.
  data.eachSpanOf(
      isAnalysed, left.empty() ? last - std::min(last, kMostSteps - 1) : 0,
      [&](int of, const trace::SpanRow& span) {
        if (of >= 0 && of < worldSize && span.step != before && !left.contains(span.step)) {
          steps.insert(*(before = span.step));
        }
      });
  while (steps.size() > kMostSteps) {
    steps.erase(steps.begin());
  }
  return steps;
}

/// Calls `make` with each of these steps and the spans of all ranks in it, on two threads, and
/// returns what it makes. Of a run of many ranks the spans of some steps at a time are there, and
/// no more.
template <typename Make>
std::vector<RecordedStep> eachStep(const RunData& data, int worldSize,
                                   const std::set<std::uint32_t>& steps, const Make& make) {
  constexpr std::size_t kSpansAtOnce = 400'000;
  const std::size_t spansAStep = data.spans.size() / std::max<std::size_t>(1, data.lastStep());
  const std::size_t atOnce = std::max<std::size_t>(1, kSpansAtOnce / (spansAStep + 1));
  std::vector<RecordedStep> all;
  for (auto from = steps.begin(); from != steps.end();) {
    std::map<std::uint32_t, std::vector<RankSpans>> some;
    for (; from != steps.end() && some.size() < atOnce; ++from) {
      auto& ranks = some[*from];
      for (int rank = 0; rank < worldSize; ++rank) {
        ranks.push_back({rank, {}});
      }
    }
    data.eachSpanOf(isAnalysed, some.begin()->first, [&](int of, const trace::SpanRow& span) {
      const auto step = some.find(span.step);
      if (of >= 0 && of < worldSize && step != some.end()) {
        step->second[static_cast<std::size_t>(of)].spans.push_back(span);
      }
    });
    std::vector<std::optional<RecordedStep>> made(some.size());
    base::inHalves(some.size(), 2, [&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) {
        const auto& [step, spans] = *std::next(some.begin(), static_cast<std::ptrdiff_t>(i));
        made[i] = make(step, spans);
      }
    });
    for (std::optional<RecordedStep>& step : made) {
      if (step) {
        all.push_back(*std::move(step));
      }
    }
  }
  return all;
}

std::string environmentOf(const std::vector<trace::RankInfo>& ranks, const std::string& key) {
  if (ranks.empty()) {
    return {};
  }
  const auto& environment = ranks.front().environment;
  const auto found = environment.find(key);
  return found == environment.end() ? std::string() : found->second;
}

}  // namespace

buckets::BucketCaps capsOf(const experiment::DdpConfig& config) {
  const auto bytes = [](double mebibytes, std::uint64_t otherwise) {
    const auto cap = buckets::capBytes(mebibytes);
    return cap.ok() ? cap.value() : otherwise;
  };
  buckets::BucketCaps caps;
  caps.firstBytes = bytes(config.firstBucketMb, caps.firstBytes);
  caps.capBytes = bytes(config.bucketCapMb, caps.capBytes);
  for (const double mebibytes : config.bucketCapMbList) {
    caps.list.push_back(bytes(mebibytes, caps.capBytes));
  }
  return caps;
}

std::size_t linkInFlight(const RecordedSettings& settings, const experiment::LinkConfig& link) {
  // A round-robin group deals its calls out to several groups, each with a link of its own.
  return static_cast<std::size_t>(link.inFlight) *
         static_cast<std::size_t>(std::max(settings.experiment.processes.roundRobin, 1));
}

double meanBucketBytes(const trace::BucketsMessage& layout) {
  double bytes = 0;
  for (const auto& bucket : layout.buckets) {
    bytes += static_cast<double>(bucket.bytes);
  }
  return bytes / static_cast<double>(std::max<std::size_t>(layout.buckets.size(), 1));
}

std::optional<double> shareOf(const std::vector<RecordedStep>& steps) {
  std::optional<double> share = steps.empty() ? std::nullopt : steps.front().share;
  for (const RecordedStep& step : steps) {
    share = step.share ? share : std::nullopt;
  }
  return share;
}

cost::RecordedRun recordedRun(const std::vector<RecordedStep>& steps,
                              const RecordedSettings& settings) {
  cost::RecordedRun run;
  run.shaped = settings.experiment.link.shapes();
  run.backendInFlight = backendInFlight(settings);
  run.inFlight =
      run.shaped ? linkInFlight(settings, settings.experiment.link) : run.backendInFlight;
  run.probes = cost::probesFrom(settings.probe);
  // One share for all steps, or none: the settings tell the cost only of buckets of which the hook
  // always sends the same part.
  const std::optional<double> share = shareOf(steps);
  for (const RecordedStep& step : steps) {
    run.steps.push_back(step.record);
  }
  run.share = share;
  run.cores = settings.cores;
  if (settings.experiment.hook.name != "allreduce") {
    run.hook.reset();
  }
  if (share && run.shaped) {
    run.known = cost::knownTransfer(cost::linkOptions(settings.experiment.link), settings.worldSize,
                                    *share);
  }
  return run;
}

std::optional<experiment::Experiment> experimentOf(const trace::RunInfo& info,
                                                   const std::filesystem::path& path) {
  if (info.kind != trace::RunKind::kExperiment) {
    return experiment::Experiment();
  }
  auto parsed = experiment::parseText(info.experimentToml, path.string(), "/");
  return parsed.mistakes.empty() ? std::optional(std::move(parsed.experiment)) : std::nullopt;
}

base::Result<RecordedSteps> recordedSteps(const RunData& data, const trace::RunInfo& info,
                                          const std::vector<trace::RankInfo>& ranks,
                                          std::optional<experiment::Experiment> experiment,
                                          const std::filesystem::path& path) {
  if (experiment && experiment->processes.strategy != "ddp") {
    return cannotRead(path, "it is a run of DataParallel, which has no buckets");
  }
  if (info.kind == trace::RunKind::kSimulated) {
    return cannotRead(path, "it is simulated, not measured: take the run that it was made from");
  }
  auto steps = lastWholeSteps(data, info.worldSize);
  if (data.layouts.empty() || steps.empty()) {
    return cannotRead(path, "it has no buckets, or no step was recorded");
  }
  if (!experiment) {
    return cannotRead(path,
                      "its experiment cannot be read, so that its caps and its link are not known");
  }
  RecordedSteps recorded;
  recorded.parameters = data.parameters;
  recorded.layout = data.layouts.back();
  recorded.settings = {
      std::move(*experiment),        info.worldSize, environmentOf(ranks, "backend"),
      environmentOf(ranks, "probe"), info.kind,      coresOf(data, info, ranks)};
  const RankClocks clocks{data.doubt, data.clock.nsPerTick};
  // The steps of other layouts, and the first with this one: it set the buckets up.
  steps.erase(steps.begin(), steps.upper_bound(recorded.layout.step));
  const auto record = [&](std::uint32_t step,
                          const std::vector<RankSpans>& spans) -> std::optional<RecordedStep> {
    const auto orders = readyOrders(spans, step, &recorded.layout);
    const auto lives = bucketLives(spans, step, recorded.layout, orders, clocks);
    const auto first = std::find_if(spans.begin(), spans.end(),
                                    [](const RankSpans& rank) { return !rank.spans.empty(); });
    // Any origin near the step does: it keeps the numbers small, for the sake of doubles.
    const StepAxis axis{first == spans.end() ? 0 : first->spans.front().startTicks,
                        clocks.nsPerTick};
    auto whole = stepRecord(spans, step, recorded.layout, orders, lives, axis);
    if (!whole.ok()) {
      return std::nullopt;
    }
    return RecordedStep{std::move(whole).value(), allreducedShare(spans, step, recorded.layout)};
  };
  recorded.steps = eachStep(data, info.worldSize, steps, record);
  return recorded;
}

base::Result<LastSteps> readLastSteps(const std::filesystem::path& path) {
  LastSteps steps{LOCKSTEP_TRY(trace::readRunSummary(path)), {}};
  const std::uint32_t last = steps.summary.lastStep;
  const std::uint32_t first = last - std::min(last, kMostSteps - 1);
  const base::Status whole = trace::readWholeRun(path, [&](trace::RunUpdate& update) {
    // Of a long run the last steps alone are kept.
    std::erase_if(update.spans, [&](const trace::SpanRow& span) { return span.step < first; });
    steps.data.take(update);
  });
  if (!whole.ok()) {
    return whole.error();
  }
  return steps;
}

namespace {

base::Result<RecordedSteps> ofAnyKind(const LastSteps& last, const std::filesystem::path& path) {
  const trace::RunInfo& info = last.summary.info;
  return recordedSteps(last.data, info, last.summary.ranks, experimentOf(info, path), path);
}

}  // namespace

base::Result<RecordedSteps> recordedSteps(const LastSteps& last,
                                          const std::filesystem::path& path) {
  auto recorded = ofAnyKind(last, path);
  if (recorded.ok() && last.summary.info.kind != trace::RunKind::kExperiment) {
    return cannotRead(path, "it is a job of PyTorch: no experiment says its caps and its link");
  }
  return recorded;
}

base::Result<RecordedSteps> readStepsOfAnyRun(const std::filesystem::path& path) {
  return ofAnyKind(LOCKSTEP_TRY(readLastSteps(path)), path);
}

base::Result<RecordedSteps> readRecordedSteps(const std::filesystem::path& path) {
  const auto last = readLastSteps(path);
  return last.ok() ? recordedSteps(last.value(), path) : base::Result<RecordedSteps>(last.error());
}

}  // namespace lockstep::analysis
