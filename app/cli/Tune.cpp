#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/Commands.h"
#include "app/cli/Complaint.h"
#include "app/cli/TextTable.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/TuneBuckets.h"
#include "engine/trace/RunFile.h"

namespace lockstep::cli {
namespace {

using analysis::BucketCut;

// More of them make the medians no steadier.
constexpr std::uint32_t kSteps = 64;
constexpr double kMiB = 1024.0 * 1024.0;

struct TuneOptions {
  std::string path;
  std::string rule = "exact";
  bool json = false;
};

struct Cut {
  std::string name;
  BucketCut buckets;
  double afterMs = 0;
  std::vector<std::uint64_t> bytes;

  /// As ddp.bucket_cap_mb_list takes it; exact, since a MiB is a power of two.
  [[nodiscard]] std::vector<double> caps() const {
    std::vector<double> caps;
    for (const std::uint64_t one : bytes) {
      caps.push_back(static_cast<double>(one) / kMiB);
    }
    return caps;
  }
};

struct Tuning {
  std::size_t steps = 0;
  analysis::CommunicationCost cost;
  double latencyMs = 0;
  double msPerMiB = 0;
  double measuredAfterMs = 0;
  std::vector<Cut> cuts;  ///< the run's own, then by each rule
};

base::Error about(const std::string& path, const std::string& why) {
  return {base::ExitCode::kBadInput, fmt::format("{} cannot be tuned by: {}", path, why), ""};
}

bool matters(trace::EventKind kind) {
  switch (kind) {
    case trace::EventKind::kGradientReady:
    case trace::EventKind::kBucketReady:
    case trace::EventKind::kBucketLaunched:
    case trace::EventKind::kCollective:
    case trace::EventKind::kChecked:
    case trace::EventKind::kShaped:
      return true;
    default:
      return false;
  }
}

/// What is read of a run.
struct Read {
  std::vector<trace::BucketsMessage> layouts;
  std::vector<trace::ParametersMessage::Parameter> parameters;
  base::ClockCalibration clock;
  std::map<std::uint32_t, std::vector<analysis::RankSpans>> steps;
};

/// Reads the last steps.
base::Result<Read> readLastSteps(const std::string& path) {
  const auto summary = trace::readRunSummary(path);
  if (!summary.ok()) {
    return summary.error();
  }
  auto reader = trace::RunFileReader::open(path);
  if (!reader.ok()) {
    return reader.error();
  }
  const std::uint32_t last = summary.value().lastStep;
  const std::uint32_t first = last - std::min(last, kSteps - 1);
  Read read;
  const int worldSize = summary.value().info.worldSize;
  std::map<std::int32_t, int> rankOf;  // by track
  constexpr std::size_t kBatch = 200'000;
  for (bool more = true; more;) {
    auto polled = reader.value()->poll(kBatch);
    if (!polled.ok()) {
      return polled.error();
    }
    const trace::RunUpdate& update = polled.value();
    more = update.spans.size() == kBatch;
    if (update.layouts) {
      read.layouts = *update.layouts;
    }
    if (update.parameters) {
      read.parameters = *update.parameters;
    }
    if (update.tracks) {
      for (const trace::TrackInfo& track : *update.tracks) {
        rankOf[track.id] = track.rank;
      }
    }
    read.clock = update.clock.value_or(read.clock);
    for (const trace::SpanRow& span : update.spans) {
      if (span.step < first || !matters(span.kind)) {
        continue;
      }
      auto& ranks = read.steps[span.step];
      for (int rank = static_cast<int>(ranks.size()); rank < worldSize; ++rank) {
        ranks.push_back({rank, {}});
      }
      const auto found = rankOf.find(span.track);
      if (found != rankOf.end() && found->second >= 0 && found->second < worldSize) {
        ranks[static_cast<std::size_t>(found->second)].spans.push_back(span);
      }
    }
  }
  return read;
}

base::Result<Tuning> tune(const std::string& path) {
  auto read = readLastSteps(path);
  if (!read.ok()) {
    return read.error();
  }
  if (read.value().layouts.empty() || read.value().steps.empty()) {
    return about(path, "it has no buckets, or no step was recorded");
  }
  const trace::BucketsMessage& layout = read.value().layouts.back();
  auto& steps = read.value().steps;
  steps.erase(steps.begin(), steps.upper_bound(layout.step));  // the first is unlike the rest
  const auto timeline = analysis::gradientTimeline(steps, layout, read.value().parameters);
  if (!timeline.ok()) {
    return about(path, timeline.error().message());
  }
  const auto& gradients = timeline.value().gradients;
  const auto cost = analysis::fitCost(timeline.value().samples);
  if (!cost) {
    return about(path,
                 "its buckets are too alike in size to tell latency from bandwidth; run it once "
                 "with a ddp.bucket_cap_mb or ddp.first_bucket_mb that makes unlike ones");
  }
  const auto ms = [&](double ticks) { return ticks * read.value().clock.nsPerTick / 1e6; };
  Tuning tuning;
  tuning.steps = timeline.value().steps;
  tuning.cost = *cost;
  tuning.latencyMs = ms(cost->latencyTicks);
  tuning.msPerMiB = ms(cost->ticksPerByte * kMiB);
  tuning.measuredAfterMs = ms(timeline.value().afterTicks);
  for (const auto& [name, cut] : {std::pair<std::string, BucketCut>{"run", timeline.value().cut},
                                  {"mg-wfbp", analysis::mgWfbpCut(gradients, *cost)},
                                  {"exact", analysis::exactCut(gradients, *cost)}}) {
    tuning.cuts.push_back({name, cut, ms(analysis::afterLastGradient(gradients, cut, *cost)),
                           analysis::bytesOf(gradients, cut)});
  }
  return tuning;
}

std::string capList(const Cut& cut) {
  return fmt::format("bucket_cap_mb_list = [{}]", fmt::join(cut.caps(), ", "));
}

std::string jsonText(const Tuning& tuning) {
  nlohmann::ordered_json all{{"steps", tuning.steps},
                             {"latency_ms", tuning.latencyMs},
                             {"ms_per_mib", tuning.msPerMiB},
                             {"fit_error_percent", tuning.cost.errorPercent},
                             {"measured_after_last_gradient_ms", tuning.measuredAfterMs}};
  for (const Cut& cut : tuning.cuts) {
    all["cuts"].push_back({{"rule", cut.name},
                           {"buckets", cut.buckets.size()},
                           {"bytes", cut.bytes},
                           {"after_last_gradient_ms", cut.afterMs},
                           {"bucket_cap_mb_list", cut.caps()}});
  }
  return all.dump(2) + "\n";
}

std::string tableText(const Tuning& tuning) {
  std::string text = fmt::format(
      "Over {} steps. The communication of a bucket takes {:.3g} ms and {:.3g} ms a MiB: fitted to "
      "{} of them, which it misses by {:.1f} % in the median.\n\n",
      tuning.steps, tuning.latencyMs, tuning.msPerMiB, tuning.cost.samples,
      tuning.cost.errorPercent);
  TextTable table({"buckets by", "number", "largest [MiB]", "after the last gradient [ms]"});
  for (const Cut& cut : tuning.cuts) {
    table.add({cut.name == "run" ? "this run" : cut.name, fmt::format("{}", cut.buckets.size()),
               fmt::format("{:.3g}", *std::max_element(cut.bytes.begin(), cut.bytes.end()) / kMiB),
               cut.name == "run"
                   ? fmt::format("{:.4g} (measured: {:.4g})", cut.afterMs, tuning.measuredAfterMs)
                   : fmt::format("{:.4g}", cut.afterMs)});
  }
  return text + table.text();
}

int print(const TuneOptions& options) {
  const auto tuned = tune(options.path);
  if (!tuned.ok()) {
    return fail(tuned.error());
  }
  if (options.json) {
    fmt::print("{}", jsonText(tuned.value()));
    return 0;
  }
  const auto wanted = std::find_if(tuned.value().cuts.begin(), tuned.value().cuts.end(),
                                   [&](const Cut& cut) { return cut.name == options.rule; });
  fmt::print("{}\nThe buckets by \"{}\", for [ddp]:\n\n{}\n", tableText(tuned.value()),
             options.rule, capList(*wanted));
  return 0;
}

}  // namespace

void addTune(CLI::App& app, Command& chosen) {
  auto* command =
      app.add_subcommand("tune", "Find the buckets that would have ended a run's steps soonest");
  auto options = std::make_shared<TuneOptions>();
  command->add_option("RUN", options->path, "Run file, live or finished")->required();
  command
      ->add_option("--rule", options->rule,
                   "exact: the best of all cuts, by dynamic programming; mg-wfbp: by the greedy "
                   "rule of Shi et al., INFOCOM 2019")
      ->check(CLI::IsMember({"exact", "mg-wfbp"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print all that is known, as JSON");
  command->footer(
      "From when each gradient was ready on the last rank, in the medians of the last 64 steps,\n"
      "and from what the communication of the run's own buckets took, a line fitted to their bytes.\n"
      "Forecast is the time from the last gradient to the end of the last bucket, one bucket in\n"
      "flight at a time. Give the list to a run with --set or in the experiment file.");
  command->callback([&chosen, options] { chosen = [options] { return print(*options); }; });
}

}  // namespace lockstep::cli
