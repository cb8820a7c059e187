#include "engine/analysis/RecordedSteps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/analysis/RunData.h"
#include "engine/cost/LinkSettings.h"
#include "engine/cost/Probe.h"
#include "engine/experiment/Parse.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/WholeRun.h"

namespace lockstep::analysis {
namespace {

// More of them make medians no steadier.
constexpr std::uint32_t kMostSteps = 64;

base::Error cannotRead(const std::filesystem::path& path, std::string why) {
  return {base::ExitCode::kBadInput, std::move(why), path.string()};
}

/// How many transfers travel at once: on a shaped link what it says, else as the backend does it.
std::size_t inFlightOf(const RecordedSettings& settings) {
  const auto& experiment = settings.experiment;
  if (experiment.link.shapes()) {
    // A round-robin group deals its calls out to several groups, each with a link of its own.
    return static_cast<std::size_t>(experiment.link.inFlight) *
           static_cast<std::size_t>(std::max(experiment.processes.roundRobin, 1));
  }
  return settings.backend == "gloo" ? 2 : 1;  // its workers (gloo::Dispatcher)
}

/// What is read of a run file.
struct ReadSteps {
  trace::RunInfo info;
  std::vector<trace::RankInfo> ranks;
  std::vector<trace::BucketsMessage> layouts;
  std::vector<trace::ParametersMessage::Parameter> parameters;
  base::ClockCalibration clock;
  trace::ClockDoubt doubt;
  std::map<std::uint32_t, std::vector<RankSpans>> steps;
};

/// Takes the spans of the steps from `first` on, by rank; `rankOf`: by track.
void takeSpans(const std::vector<trace::SpanRow>& spans, const std::map<std::int32_t, int>& rankOf,
               std::uint32_t first, ReadSteps& read) {
  for (const trace::SpanRow& span : spans) {
    const auto found = rankOf.find(span.track);
    if (span.step < first || !run::has(span.kind, run::kAnalysed) || found == rankOf.end() ||
        found->second < 0 || found->second >= read.info.worldSize) {
      continue;
    }
    auto& ranks = read.steps[span.step];
    for (int rank = static_cast<int>(ranks.size()); rank < read.info.worldSize; ++rank) {
      ranks.push_back({rank, {}});
    }
    ranks[static_cast<std::size_t>(found->second)].spans.push_back(span);
  }
}

base::Result<ReadSteps> readLastSteps(const std::filesystem::path& path) {
  auto summary = trace::readRunSummary(path);
  if (!summary.ok()) {
    return summary.error();
  }
  ReadSteps read;
  read.info = std::move(summary.value().info);
  read.ranks = std::move(summary.value().ranks);
  const std::uint32_t last = summary.value().lastStep;
  // The whole file is read, but no more than these steps are kept: a long run has millions of
  // spans.
  const std::uint32_t first = last - std::min(last, kMostSteps - 1);
  std::map<std::int32_t, int> rankOf;
  const base::Status whole = trace::readWholeRun(path, [&](trace::RunUpdate& update) {
    read.doubt.take(update);
    if (update.layouts) {
      read.layouts = std::move(*update.layouts);
    }
    if (update.parameters) {
      read.parameters = std::move(*update.parameters);
    }
    if (update.tracks) {
      for (const trace::TrackInfo& track : *update.tracks) {
        rankOf[track.id] = track.rank;
      }
    }
    read.clock = update.clock.value_or(read.clock);
    takeSpans(update.spans, rankOf, first, read);
  });
  if (!whole.ok()) {
    return whole.error();
  }
  return read;
}

std::string environmentOf(const ReadSteps& read, const std::string& key) {
  if (read.ranks.empty()) {
    return {};
  }
  const auto& environment = read.ranks.front().environment;
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

cost::RecordedRun recordedRun(const std::vector<RecordedStep>& steps,
                              const RecordedSettings& settings) {
  cost::RecordedRun run;
  run.inFlight = inFlightOf(settings);
  run.probes = cost::probesFrom(settings.probe);
  // One share for all steps, or none: the settings tell the cost only of buckets of which the hook
  // always sends the same part.
  std::optional<double> share = steps.empty() ? std::nullopt : steps.front().share;
  for (const RecordedStep& step : steps) {
    run.steps.push_back(step.record);
    share = step.share ? share : std::nullopt;
  }
  if (share && settings.experiment.link.shapes()) {
    run.known = cost::knownTransfer(cost::linkOptions(settings.experiment.link), settings.worldSize,
                                    *share);
  }
  return run;
}

base::Result<RecordedSteps> readRecordedSteps(const std::filesystem::path& path) {
  auto opened = readLastSteps(path);
  if (!opened.ok()) {
    return opened.error();
  }
  ReadSteps& read = opened.value();
  auto parsed = experiment::parseText(read.info.experimentToml, path.string(), "/");
  if (parsed.mistakes.empty() && parsed.experiment.processes.strategy != "ddp") {
    return cannotRead(path, "it is a run of DataParallel, which has no buckets");
  }
  if (read.layouts.empty() || read.steps.empty()) {
    return cannotRead(path, "it has no buckets, or no step was recorded");
  }
  if (read.info.kind != trace::RunKind::kExperiment) {
    return cannotRead(path, "it is a job of PyTorch: no experiment says its caps and its link");
  }
  if (!parsed.mistakes.empty()) {
    return cannotRead(path,
                      "its experiment cannot be read, so that its caps and its link are not known");
  }
  RecordedSteps recorded;
  recorded.parameters = std::move(read.parameters);
  recorded.layout = read.layouts.back();
  recorded.settings = {std::move(parsed.experiment), read.info.worldSize,
                       environmentOf(read, "backend"), environmentOf(read, "probe")};
  const RankClocks clocks{read.doubt, read.clock.nsPerTick};
  // The steps of other layouts, and the first with this one: it set the buckets up.
  read.steps.erase(read.steps.begin(), read.steps.upper_bound(recorded.layout.step));
  for (const auto& [step, ranks] : read.steps) {
    const auto orders = readyOrders(ranks, step, &recorded.layout);
    const auto lives = bucketLives(ranks, step, recorded.layout, orders, clocks);
    const auto first = std::find_if(ranks.begin(), ranks.end(),
                                    [](const RankSpans& rank) { return !rank.spans.empty(); });
    // Any origin near the step does: it keeps the numbers small, for the sake of doubles.
    const StepAxis axis{first == ranks.end() ? 0 : first->spans.front().startTicks,
                        clocks.nsPerTick};
    auto record = stepRecord(ranks, step, recorded.layout, orders, lives, axis);
    if (record.ok()) {
      recorded.steps.push_back(
          {std::move(record).value(), allreducedShare(ranks, step, recorded.layout)});
    }
  }
  return recorded;
}

}  // namespace lockstep::analysis
