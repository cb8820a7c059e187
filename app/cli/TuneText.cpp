#include "app/cli/TuneText.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/ForecastJson.h"
#include "app/cli/TextTable.h"
#include "engine/base/NumberText.h"
#include "engine/cost/ForecastText.h"
#include "engine/cost/Sample.h"

namespace lockstep::cli {
namespace {

nlohmann::ordered_json cutJson(const Cut& cut) {
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
  return one;
}

nlohmann::ordered_json candidateJson(const analysis::TuneCandidate& of) {
  const cost::Estimate step = of.stepNs();
  return {{"settings", of.settings.text()},
          {"keys", of.settings.keys()},
          {"rule", of.rule},
          {"buckets", of.buckets()},
          {"step_ms",
           {{"value", step.value / kNsPerMs},
            {"low", step.low / kNsPerMs},
            {"high", step.high / kNsPerMs}}},
          {"surely_better", of.isSurelyBetter()},
          {"ranks", forecastsJson(of.ranks)}};
}

nlohmann::ordered_json measuredJson(const std::vector<MeasuredSettings>& measured) {
  nlohmann::ordered_json all{{"rounds", measured.front().stepMs.size()}};
  for (const MeasuredSettings& one : measured) {
    nlohmann::ordered_json of{
        {"settings", one.settings.text()}, {"keys", one.settings.keys()}, {"step_ms", one.stepMs}};
    if (one.ratio) {
      of["ratio"] = {
          {"value", one.ratio->mean}, {"low", one.ratio->low}, {"high", one.ratio->high}};
    }
    all["settings"].push_back(std::move(of));
  }
  all["winner"] = nullptr;
  if (const MeasuredSettings* const winner = winnerOf(measured)) {
    all["winner"] = winner->settings.text();
  }
  all["verdict"] = verdictText(measured);
  return all;
}

std::string cutsText(const Tuning& tuning) {
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

std::string candidatesText(const std::vector<analysis::TuneCandidate>& candidates) {
  TextTable table({"", "settings", "buckets by", "number", "step, mean of all ranks", ""});
  for (std::size_t number = 0; number < candidates.size(); ++number) {
    const analysis::TuneCandidate& one = candidates[number];
    table.add({number == 0 ? "" : fmt::format("{}", number), one.settings.text(),
               one.rule == "run" ? "this run" : one.rule, fmt::format("{}", one.buckets()),
               cost::estimateText(one.stepNs()),
               number == 0            ? ""
               : one.isSurelyBetter() ? "shorter"
                                      : "not surely shorter"});
  }
  return fmt::format(
      "Settings by how short a step they make in the replay; the first row is the replay of this "
      "run's own:\n\n{}",
      table.text());
}

}  // namespace

std::vector<double> Cut::caps() const {
  std::vector<double> caps;
  for (const cost::PlannedBucket& bucket : plan) {
    caps.push_back(static_cast<double>(bucket.bytes) / base::kMiB);
  }
  return caps;
}

std::string tuningJson(const Tuning& tuning) {
  nlohmann::ordered_json all{{"steps", tuning.steps}};
  all.update(fitJson(tuning.fit));
  for (const Cut& cut : tuning.cuts) {
    all["cuts"].push_back(cutJson(cut));
  }
  for (const analysis::TuneCandidate& one : tuning.candidates) {
    all["candidates"].push_back(candidateJson(one));
  }
  if (!tuning.measured.empty()) {
    all["measured"] = measuredJson(tuning.measured);
  }
  return all.dump(2) + "\n";
}

std::string tuningText(const Tuning& tuning, const std::string& rule) {
  const auto wanted = std::find_if(tuning.cuts.begin(), tuning.cuts.end(),
                                   [&](const Cut& cut) { return cut.name == rule; });
  const cost::RankForecast* const shown = cost::mostExposed(wanted->ranks);
  const analysis::TuneCandidate asCandidate{{}, {}, {}, 0, wanted->ranks};
  return fmt::format(
      "{}\n{}The buckets by \"{}\", for [ddp]{}:\n\nbucket_cap_mb_list = [{}]\n\n{}",
      cutsText(tuning), shown == nullptr ? "" : cost::forecastText(*shown) + "\n\n", rule,
      asCandidate.isSurelyBetter() ? "" : ", which may do no better than those of this run",
      fmt::join(wanted->caps(), ", "), candidatesText(tuning.candidates));
}

std::string measuredText(const Tuning& tuning) {
  TextTable table({"settings", "steps [ms], by round", "median", "of the run's own", "99 %"});
  for (const MeasuredSettings& one : tuning.measured) {
    table.add({one.settings.text(), fmt::format("{:.2f}", fmt::join(one.stepMs, " ")),
               base::msText(cost::median(one.stepMs).value_or(0)),
               one.ratio ? fmt::format("{:.3f}", one.ratio->mean) : "1",
               one.ratio ? fmt::format("{:.3f} .. {:.3f}", one.ratio->low, one.ratio->high) : "-"});
  }
  return fmt::format("{}\n{}\n", table.text(), verdictText(tuning.measured));
}

}  // namespace lockstep::cli
