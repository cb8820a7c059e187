#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/cli/AddCommand.h"
#include "app/cli/ForecastJson.h"
#include "app/cli/TextTable.h"
#include "engine/analysis/TuneBuckets.h"
#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/cost/ForecastText.h"

namespace lockstep::cli {
namespace {

struct TuneOptions {
  std::string path;
  std::string rule = "exact";
  bool json = false;
};

struct Cut {
  std::string name;
  std::vector<cost::PlannedBucket> plan;
  std::vector<cost::RankForecast> ranks;
  std::string whyNot;  ///< empty: the forecast is known

  /// As ddp.bucket_cap_mb_list takes it; exact, since a MiB is a power of two.
  [[nodiscard]] std::vector<double> caps() const {
    std::vector<double> caps;
    for (const cost::PlannedBucket& bucket : plan) {
      caps.push_back(static_cast<double>(bucket.bytes) / base::kMiB);
    }
    return caps;
  }
};

struct Tuning {
  std::size_t steps = 0;
  cost::TransferFit fit;
  std::vector<cost::RankForecast> own;  ///< Forecaster::own
  std::vector<Cut> cuts;                ///< the run's own, then by each rule
};

base::Result<Tuning> tune(const std::string& path) {
  const auto recorded = LOCKSTEP_TRY(analysis::readRecordedSteps(path));
  const auto gradients = analysis::timedGradients(recorded);
  if (!gradients.ok()) {
    return cannotTell(path, gradients.error());
  }
  const auto made =
      cost::Forecaster::make(analysis::recordedRun(recorded.steps, recorded.settings));
  if (!made.ok()) {
    return cannotTell(path, made.error());
  }
  const cost::Forecaster& forecaster = made.value();
  const cost::TransferCost& cost = forecaster.fit().cost;
  Tuning tuning{recorded.steps.size(), forecaster.fit(), forecaster.own(), {}};
  for (const auto& [name, cut] :
       {std::pair<std::string, analysis::BucketCut>{"run", analysis::ownCut(recorded.layout)},
        {"mg-wfbp", analysis::mgWfbpCut(gradients.value(), cost)},
        {"exact", analysis::exactCut(gradients.value(), cost, forecaster.mostBytes())}}) {
    Cut& one = tuning.cuts.emplace_back();
    one.name = name;
    one.plan = analysis::planOf(gradients.value(), cut);
    auto ranks = forecaster.forecast(one.plan);
    if (ranks.ok()) {
      one.ranks = std::move(ranks).value();
    } else {
      one.whyNot = ranks.error().what;
    }
  }
  return tuning;
}

std::string capList(const Cut& cut) {
  return fmt::format("bucket_cap_mb_list = [{}]", fmt::join(cut.caps(), ", "));
}

std::string jsonText(const Tuning& tuning) {
  nlohmann::ordered_json all{{"steps", tuning.steps}};
  all.update(fitJson(tuning.fit));
  for (const Cut& cut : tuning.cuts) {
    std::vector<std::uint64_t> bytes;
    for (const cost::PlannedBucket& bucket : cut.plan) {
      bytes.push_back(bucket.bytes);
    }
    nlohmann::ordered_json one{{"rule", cut.name}, {"buckets", bytes.size()}, {"bytes", bytes}};
    if (cut.whyNot.empty()) {
      one["ranks"] = forecastsJson(cut.ranks);
    } else {
      one["not_forecast_because"] = cut.whyNot;
    }
    one["bucket_cap_mb_list"] = cut.caps();
    all["cuts"].push_back(std::move(one));
  }
  return all.dump(2) + "\n";
}

std::string tableText(const Tuning& tuning) {
  const cost::RankForecast& shown = *cost::mostExposed(tuning.own);
  // All forecasts have the ranks in one order: the row of another cut at this place is the same
  // rank's.
  const auto at = static_cast<std::size_t>(&shown - tuning.own.data());
  TextTable table({"buckets by", "number", "largest [MiB]",
                   fmt::format("exposed on rank {}", shown.rank), "step"});
  std::string text = fmt::format(
      "Medians over {} steps; in brackets behind a forecast, where nine of ten runs with such "
      "buckets are expected. {}\n\n",
      tuning.steps, cost::costText(tuning.fit));
  for (const Cut& cut : tuning.cuts) {
    const auto caps = cut.caps();
    const std::string largest = fmt::format("{:.3g}", *std::max_element(caps.begin(), caps.end()));
    const std::string number = fmt::format("{}", cut.plan.size());
    if (cut.name == "run") {
      table.add({"this run", number, largest,
                 base::durationText(shown.measuredExposedNs) + " (measured)",
                 base::durationText(shown.measuredStepNs) + " (measured)"});
    } else if (!cut.whyNot.empty()) {
      table.add({cut.name, number, largest, "not known", "not known: " + cut.whyNot});
    } else {
      table.add({cut.name, number, largest, cost::estimateText(cut.ranks[at].exposedNs),
                 cost::estimateText(cut.ranks[at].stepNs)});
    }
  }
  return text + table.text();
}

/// Whether each rank's steps would get shorter with these buckets.
bool isSurelyBetter(const Cut& cut) {
  return cut.whyNot.empty() &&
         std::all_of(cut.ranks.begin(), cut.ranks.end(), [](const cost::RankForecast& of) {
           // Where all of the interval lies below what was measured, on every rank.
           return cost::changeFrom(of.measuredStepNs, of.stepNs) == cost::Change::kLess;
         });
}

base::Result<int> print(const TuneOptions& options) {
  const auto tuned = LOCKSTEP_TRY(tune(options.path));
  if (options.json) {
    fmt::print("{}", jsonText(tuned));
    return 0;
  }
  const auto wanted = std::find_if(tuned.cuts.begin(), tuned.cuts.end(),
                                   [&](const Cut& cut) { return cut.name == options.rule; });
  const cost::RankForecast* const shown = cost::mostExposed(wanted->ranks);
  fmt::print("{}\n{}The buckets by \"{}\", for [ddp]{}:\n\n{}\n", tableText(tuned),
             shown == nullptr ? "" : cost::forecastText(*shown) + "\n\n", options.rule,
             isSurelyBetter(*wanted) ? "" : ", which may do no better than those of this run",
             capList(*wanted));
  return 0;
}

}  // namespace

void addTune(CLI::App& app, Command& chosen) {
  auto [command, options] = addCommand(
      app, chosen, "tune", "Find the buckets that would have ended a run's steps soonest", print);
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
      "and from what the communication of a bucket costs, one bucket in flight at a time. What "
      "each\n"
      "cut comes to is forecast as whatif does it, with where a run is expected in nine cases of\n"
      "ten. Give the list to a run with --set or in the experiment file.");
}

}  // namespace lockstep::cli
