#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/AddCommand.h"
#include "app/cli/ForecastJson.h"
#include "app/cli/TextTable.h"
#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/cost/ForecastText.h"
#include "engine/diagnosis/WantedChange.h"
#include "engine/experiment/LinkPresets.h"
#include "engine/plugin/VerifiedHooks.h"

namespace lockstep::cli {
namespace {

using diagnosis::ReadyChange;
using diagnosis::WantedChange;

struct WhatIfOptions {
  std::string path;
  std::string hook;  ///< that was verified; empty: none
  WantedChange wanted;
  bool json = false;
};

/// What the run was, and what it would have been.
struct Forecasted {
  experiment::DdpConfig ddp;  ///< its own
  std::size_t ownBuckets = 0;
  std::size_t buckets = 0;
  std::size_t steps = 0;
  cost::TransferFit fit;
  cost::Line line;  ///< with the change
  ReadyChange ready;
  std::vector<cost::RankForecast> ranks;
  std::optional<cost::Cores> cores;

  /// Whether a cap alone is another one.
  [[nodiscard]] bool isOfCap(const WantedChange& wanted) const {
    return wanted.capMb && ready.parts.size() == 1;
  }
};

/// Error: a cap is none, said of its option.
base::Status canBeCaps(const WantedChange& wanted) {
  const auto check = [](double mebibytes, const char* option) -> base::Status {
    const auto bytes = buckets::capBytes(mebibytes);
    return bytes.ok() ? base::Status()
                      : base::Error{base::ExitCode::kBadInput, bytes.error().what, option};
  };
  if (wanted.capMb) {
    LOCKSTEP_TRY(check(*wanted.capMb, "--bucket-cap-mb"));
  }
  for (const double mebibytes : wanted.capListMb) {
    LOCKSTEP_TRY(check(mebibytes, "--bucket-cap-mb-list"));
  }
  return {};
}

base::Result<Forecasted> forecastOf(const WhatIfOptions& options) {
  const auto last = LOCKSTEP_TRY(analysis::readLastSteps(options.path));
  const auto recorded = LOCKSTEP_TRY(analysis::recordedSteps(last, options.path));
  LOCKSTEP_TRY(canBeCaps(options.wanted));
  WantedChange wanted = options.wanted;
  if (!options.hook.empty()) {
    auto hook = LOCKSTEP_TRY(plugin::verifiedHook(options.hook));
    wanted.verifiedHook = std::make_shared<const cost::VerifiedHook>(std::move(hook));
  }
  auto changed = diagnosis::readyChange(wanted, recorded, last.data);
  if (!changed.ok()) {
    return changed.error().where.empty() ? cannotTell(options.path, changed.error())
                                         : changed.error();
  }
  ReadyChange ready = std::move(changed).value();
  if (ready.parts.empty()) {
    return base::Error{base::ExitCode::kBadInput,
                       "nothing is to be changed: name a cap, a link, a hook or another option of "
                       "whatif --help",
                       "whatif"};
  }
  const auto forecaster = cost::Forecaster::make(diagnosis::recordedRunOf(recorded, last.data));
  if (!forecaster.ok()) {
    return cannotTell(options.path, forecaster.error());
  }
  auto ranks = forecaster.value().forecast(ready.change);
  if (!ranks.ok()) {
    return cannotTell(options.path, ranks.error());
  }
  const std::size_t own = recorded.layout.buckets.size();
  return Forecasted{recorded.settings.experiment.ddp,
                    own,
                    ready.change.buckets ? ready.change.buckets->size() : own,
                    recorded.steps.size(),
                    forecaster.value().fit(),
                    forecaster.value().lineOf(ready.change).value(),
                    std::move(ready),
                    std::move(ranks).value(),
                    recorded.settings.cores};
}

std::string jsonOf(const WhatIfOptions& options, const Forecasted& told) {
  const WantedChange& wanted = options.wanted;
  nlohmann::ordered_json all;
  if (wanted.capMb) {
    all["bucket_cap_mb"] = *wanted.capMb;
  }
  if (!wanted.capListMb.empty()) {
    all["bucket_cap_mb_list"] = wanted.capListMb;
  }
  all["buckets"] = told.buckets;
  all["own_bucket_cap_mb"] = told.ddp.bucketCapMb;
  all["own_buckets"] = told.ownBuckets;
  all["steps"] = told.steps;
  all.update(fitJson(told.fit));
  all["changes"] = told.ready.parts;
  all["line"] = lineJson(told.line);
  if (!told.ready.hook.empty()) {
    const cost::HookWork& work = *told.ready.change.hook;
    all["hook"] = {{"name", told.ready.hook},
                   {"encode_ms", work.encode.latencyNs / kNsPerMs},
                   {"encode_ms_per_mib", work.encode.nsPerByte * base::kMiB / kNsPerMs},
                   {"decode_ms", work.decode.latencyNs / kNsPerMs},
                   {"decode_ms_per_mib", work.decode.nsPerByte * base::kMiB / kNsPerMs},
                   {"around_step_ms", work.aroundStepNs / kNsPerMs}};
    if (work.share) {
      all["hook"]["share"] = *work.share;
    }
    if (!told.ready.ofHook.empty()) {
      all["hook"]["verified"] = told.ready.ofHook;
    }
  }
  if (wanted.computeFactor) {
    all["compute_factor"] = *wanted.computeFactor;
  }
  all["ranks"] = forecastsJson(told.ranks);
  return all.dump(2) + "\n";
}

std::string textOf(const WhatIfOptions& options, const Forecasted& told) {
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
  const std::string own = told.ddp.bucketCapMbList.empty()
                              ? fmt::format("measured, cap {:.4g} MiB", told.ddp.bucketCapMb)
                              : "measured, a list of caps";
  for (const cost::RankForecast& of : shown) {
    table.add({fmt::format("{}", of.rank), own, fmt::format("{}", told.ownBuckets),
               base::durationText(of.measuredExposedNs), base::durationText(of.measuredStepNs)});
    table.add({"", "the same, replayed", fmt::format("{}", told.ownBuckets),
               base::durationText(of.replayedExposedNs), base::durationText(of.replayedStepNs)});
    table.add({"", fmt::format("forecast, {}", fmt::join(told.ready.parts, ", ")),
               fmt::format("{}", told.buckets), cost::estimateText(of.exposedNs),
               cost::estimateText(of.stepNs)});
  }
  std::string text =
      told.isOfCap(options.wanted)
          ? fmt::format(
                "Medians over {} steps; in brackets, where nine of ten runs with this cap are "
                "expected. {}",
                told.steps, cost::costText(told.fit))
          : fmt::format(
                "Medians over {} steps; in brackets, where nine of ten runs with this change are "
                "expected. {}",
                told.steps, cost::costText(told.fit));
  if (told.ready.change.link || told.ready.change.inFlight || told.ready.change.hook) {
    text += " " + cost::lineText(told.line);
  }
  if (!told.ready.ofHook.empty()) {
    text += " " + told.ready.ofHook;
  }
  if (const std::string cores = cost::coresText(told.cores, told.ranks); !cores.empty()) {
    text += " " + cores;
  }
  text += "\n\n" + table.text() + "\n";
  for (const cost::RankForecast& of : shown) {
    text += cost::forecastText(of) + "\n";
  }
  return text;
}

base::Result<int> printForecast(const WhatIfOptions& options) {
  const auto told = LOCKSTEP_TRY(forecastOf(options));
  fmt::print("{}", options.json ? jsonOf(options, told) : textOf(options, told));
  return 0;
}

std::vector<std::string> presetNames() {
  std::vector<std::string> names;
  for (const experiment::LinkPreset& preset : experiment::linkPresets()) {
    names.push_back(preset.name);
  }
  return names;
}

}  // namespace

void addWhatIf(CLI::App& app, Command& chosen) {
  auto [command, options] = addCommand(
      app, chosen, "whatif",
      "Forecast a run's exposed time and step time with other buckets, link, hook or computing",
      printForecast);
  WantedChange& wanted = options->wanted;
  command->add_option("RUN", options->path, "Run file, live or finished")->required();
  auto* cap =
      command->add_option("--bucket-cap-mb", wanted.capMb, "Another cap, as ddp.bucket_cap_mb");
  command
      ->add_option("--bucket-cap-mb-list", wanted.capListMb,
                   "Other caps, A,B,..., as ddp.bucket_cap_mb_list")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes(cap);
  auto* preset = command
                     ->add_option("--link", wanted.link,
                                  "Another link by name, as link.preset: " +
                                      fmt::format("{}", fmt::join(presetNames(), ", ")))
                     ->check(CLI::IsMember(presetNames()))
                     ->option_text("PRESET");
  addChecked(*command, "--bandwidth-gbps", wanted.bandwidthGbps, CLI::PositiveNumber,
             "Another link by its bandwidth, as link.bandwidth_gbps")
      ->excludes(preset);
  addChecked(*command, "--latency-us", wanted.latencyUs, CLI::NonNegativeNumber,
             "and its latency, as link.latency_us")
      ->excludes(preset);
  addChecked(
      *command, "--in-flight", wanted.inFlight, CLI::NonNegativeNumber,
      "How many buckets travel at once on a modelled link, as link.in_flight; 0: any number");
  auto* hookOf = command->add_option(
      "--hook-of", wanted.hookOf,
      "The hook of another run, with the work that it was measured to do there");
  command
      ->add_option("--hook", options->hook,
                   "A hook by name, as lockstep hooks NAME --verify measured it on this machine")
      ->excludes(hookOf);
  addChecked(*command, "--compute-factor", wanted.computeFactor, CLI::PositiveNumber,
             "What forward and backward take, in parts of what they took: 0.5 is twice as fast");
  command->add_option("--without-excess-of", wanted.withoutExcessOf,
                      "A rank that takes no longer for its work than the middle of the others");
  command->add_flag("--json", options->json, "Print all that is known, as JSON");
  command->footer(
      "Replays the last 64 steps with what is changed, and options combine: gradients become\n"
      "ready when they did, and buckets are launched, queued, carried and copied out as the run\n"
      "did it, in all that is not named. Another link carries the buckets as [link] would, over\n"
      "the backend that the run had. In brackets is where a run with the change is expected in\n"
      "nine cases of ten. That a figure would fall or rise is said where all of that interval\n"
      "does. Where the replay of the run's own steps misses what was measured, or nothing tells\n"
      "what the change would cost, it says so, and exits with 2.");
}

}  // namespace lockstep::cli
