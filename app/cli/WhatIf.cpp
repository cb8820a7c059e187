#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/AddCommand.h"
#include "app/cli/ForecastJson.h"
#include "app/cli/TextTable.h"
#include "engine/analysis/RecordedSteps.h"
#include "engine/analysis/WhatIfCap.h"
#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/cost/ForecastText.h"

namespace lockstep::cli {
namespace {

struct WhatIfOptions {
  std::string path;
  double capMb = 0;
  bool json = false;
};

/// What the run was, and what it would have been.
struct CapForecast {
  double ownCapMb = 0;
  std::size_t ownBuckets = 0;
  std::size_t buckets = 0;
  std::size_t steps = 0;
  cost::TransferFit fit;
  std::vector<cost::RankForecast> ranks;
};

base::Result<CapForecast> replay(const analysis::RecordedSteps& recorded, std::uint64_t capBytes) {
  const auto& ddp = recorded.settings.experiment.ddp;
  const auto plan = LOCKSTEP_TRY(
      analysis::planWithCap(recorded.parameters, recorded.layout, analysis::capsOf(ddp), capBytes));
  const auto forecaster = LOCKSTEP_TRY(
      cost::Forecaster::make(analysis::recordedRun(recorded.steps, recorded.settings)));
  auto ranks = LOCKSTEP_TRY(forecaster.forecast(plan));
  return CapForecast{ddp.bucketCapMb,  recorded.layout.buckets.size(),
                     plan.size(),      recorded.steps.size(),
                     forecaster.fit(), std::move(ranks)};
}

base::Result<CapForecast> forecastCap(const WhatIfOptions& options) {
  const auto capBytes = buckets::capBytes(options.capMb);
  if (!capBytes.ok()) {
    return base::Error{base::ExitCode::kBadInput, capBytes.error().what, "--bucket-cap-mb"};
  }
  const auto told =
      replay(LOCKSTEP_TRY(analysis::readRecordedSteps(options.path)), capBytes.value());
  return told.ok() ? told : cannotTell(options.path, told.error());
}

std::string jsonOf(const WhatIfOptions& options, const CapForecast& told) {
  nlohmann::ordered_json all{{"bucket_cap_mb", options.capMb},
                             {"buckets", told.buckets},
                             {"own_bucket_cap_mb", told.ownCapMb},
                             {"own_buckets", told.ownBuckets},
                             {"steps", told.steps}};
  all.update(fitJson(told.fit));
  all["ranks"] = forecastsJson(told.ranks);
  return all.dump(2) + "\n";
}

std::string textOf(const WhatIfOptions& options, const CapForecast& told) {
  TextTable table({"rank", "", "buckets", "exposed", "step"});
  // Of many ranks those with the least, the middle and the most exposed time.
  std::vector<cost::RankForecast> shown = told.ranks;
  constexpr std::size_t kMostShown = 8;
  if (shown.size() > kMostShown) {
    std::sort(shown.begin(), shown.end(), [](const auto& a, const auto& b) {
      return a.measuredExposedNs < b.measuredExposedNs;
    });
    shown = {shown.front(), shown[shown.size() / 2], shown.back()};
  }
  for (const cost::RankForecast& of : shown) {
    table.add({fmt::format("{}", of.rank), fmt::format("measured, cap {:.4g} MiB", told.ownCapMb),
               fmt::format("{}", told.ownBuckets), base::durationText(of.measuredExposedNs),
               base::durationText(of.measuredStepNs)});
    table.add({"", "the same, replayed", fmt::format("{}", told.ownBuckets),
               base::durationText(of.replayedExposedNs), base::durationText(of.replayedStepNs)});
    table.add({"", fmt::format("forecast, cap {:.4g} MiB", options.capMb),
               fmt::format("{}", told.buckets), cost::estimateText(of.exposedNs),
               cost::estimateText(of.stepNs)});
  }
  std::string text = fmt::format(
      "Medians over {} steps; in brackets, where nine of ten runs with this cap are expected. "
      "{}\n\n{}\n",
      told.steps, cost::costText(told.fit), table.text());
  for (const cost::RankForecast& of : shown) {
    text += cost::forecastText(of) + "\n";
  }
  return text;
}

base::Result<int> printForecast(const WhatIfOptions& options) {
  const auto told = LOCKSTEP_TRY(forecastCap(options));
  fmt::print("{}", options.json ? jsonOf(options, told) : textOf(options, told));
  return 0;
}

}  // namespace

void addWhatIf(CLI::App& app, Command& chosen) {
  auto [command, options] = addCommand(
      app, chosen, "whatif", "Forecast a run's exposed time and step time with another bucket cap",
      printForecast);
  command->add_option("RUN", options->path, "Run file, live or finished")->required();
  command->add_option("--bucket-cap-mb", options->capMb, "The cap, as ddp.bucket_cap_mb")
      ->required();
  command->add_flag("--json", options->json, "Print all that is known, as JSON");
  command->footer(
      "Replays the last 64 steps with the buckets that this cap makes: gradients become ready\n"
      "when they did, and buckets are launched, queued, carried and copied out as the run did\n"
      "it. In brackets is where a run with this cap is expected in nine cases of ten. That a\n"
      "figure would fall or rise is said where all of that interval does. Where the replay of\n"
      "the run's own steps misses what was measured, or its transfers do not tell what others\n"
      "would cost, it says so, and exits with 2.");
}

}  // namespace lockstep::cli
