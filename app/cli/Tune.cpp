#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "app/cli/AddCommand.h"
#include "app/cli/ForecastJson.h"
#include "app/cli/TuneText.h"
#include "engine/analysis/TuneBuckets.h"
#include "engine/base/Try.h"
#include "engine/diagnosis/WantedChange.h"
#include "engine/experiment/Parse.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;

struct TuneOptions {
  std::string path;
  std::string rule = "exact";
  std::vector<std::string> hookOf;
  bool run = false;
  std::size_t candidates = 3;  ///< the run's own settings among them
  RoundsOptions rounds;
  std::string apply;
  bool force = false;
  bool json = false;
};

base::Result<Tuning> tune(const TuneOptions& options) {
  const std::string& path = options.path;
  const auto last = LOCKSTEP_TRY(analysis::readLastSteps(path));
  const auto recorded = LOCKSTEP_TRY(analysis::recordedSteps(last, path));
  const auto gradients = analysis::timedGradients(recorded);
  if (!gradients.ok()) {
    return cannotTell(path, gradients.error());
  }
  std::vector<analysis::RecordedHook> hooks;
  for (const std::string& of : options.hookOf) {
    const auto hook = analysis::readRecordedHook(of);
    if (!hook.ok()) {
      return hook.error().where.empty() ? cannotTell(path, hook.error()) : hook.error();
    }
    cost::StepChange change;
    if (const auto fits = analysis::changeHook(recorded.settings, hook.value(), change);
        !fits.ok()) {
      return cannotTell(path, fits.error());
    }
    hooks.push_back(hook.value());
  }
  const auto made = cost::Forecaster::make(diagnosis::recordedRunOf(recorded, last.data));
  if (!made.ok()) {
    return cannotTell(path, made.error());
  }
  const cost::Forecaster& forecaster = made.value();
  const cost::TransferCost& cost = forecaster.fit().cost;
  Tuning tuning{recorded.steps.size(),       forecaster.fit(), forecaster.own(), {}, {},
                recorded.settings.experiment};
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
  auto candidates = analysis::tuneCandidates(recorded, forecaster, hooks);
  if (!candidates.ok()) {
    return cannotTell(path, candidates.error());
  }
  tuning.candidates = std::move(candidates).value();
  return tuning;
}

/// The best candidates whose replayed steps are shorter than those of the run, by a thousandth.
std::vector<analysis::TunedSettings> toBeRun(const Tuning& tuning, std::size_t most) {
  std::vector<analysis::TunedSettings> settings;
  const double worthARun = 0.999 * tuning.candidates[0].replayedStepNs;
  for (std::size_t i = 1; i < tuning.candidates.size() && settings.size() + 1 < most; ++i) {
    if (tuning.candidates[i].replayedStepNs < worthARun) {
      settings.push_back(tuning.candidates[i].settings);
    }
  }
  return settings;
}

/// What is to be written: the winner of the runs, or else the best by its forecast.
const analysis::TunedSettings* best(const Tuning& tuning) {
  if (!tuning.measured.empty()) {
    const MeasuredSettings* const winner = winnerOf(tuning.measured);
    return winner == nullptr ? nullptr : &winner->settings;
  }
  const auto& candidates = tuning.candidates;
  return candidates.size() > 1 && candidates[1].isSurelyBetter() ? &candidates[1].settings
                                                                 : nullptr;
}

base::Status write(const Tuning& tuning, const TuneOptions& options) {
  const analysis::TunedSettings* const settings = best(tuning);
  if (settings == nullptr) {
    return base::Error{base::ExitCode::kBadInput,
                       tuning.measured.empty()
                           ? "not written: no other settings would surely make shorter steps; "
                             "--run measures the best"
                           : "not written: no other settings won",
                       options.apply};
  }
  experiment::Experiment experiment = settings->appliedTo(tuning.experiment);
  experiment.sweep = {};
  std::ofstream file(options.apply);
  file << experiment::toToml(experiment);
  file.close();
  if (!file) {
    return base::systemError(base::ExitCode::kEnvironment, "cannot write", options.apply);
  }
  if (!options.json) {
    fmt::print("\n{} has the experiment with {}\n", options.apply,
               fmt::join(settings->keys(), ", "));
  }
  return {};
}

base::Result<int> print(const TuneOptions& options) {
  if (!options.apply.empty() && !options.force && fs::exists(options.apply)) {
    return base::Error{base::ExitCode::kBadInput, "there is such a file; --force overwrites it",
                       options.apply};
  }
  Tuning tuning = LOCKSTEP_TRY(tune(options));
  if (!options.json) {
    fmt::print("{}", tuningText(tuning, options.rule));
    std::fflush(stdout);
  }
  if (options.run) {
    const auto others = toBeRun(tuning, options.candidates);
    if (others.empty()) {
      if (!options.json) {
        fmt::print("\nNothing is run: no other settings make shorter steps in the replay.\n");
      }
    } else {
      RoundsOptions rounds = options.rounds;
      rounds.quiet = options.json;
      tuning.measured = LOCKSTEP_TRY(runInRounds(tuning.experiment, others, rounds));
      if (!options.json) {
        fmt::print("\n{}", measuredText(tuning));
      }
    }
  }
  if (options.json) {
    fmt::print("{}", tuningJson(tuning));
  }
  if (!options.apply.empty()) {
    LOCKSTEP_TRY(write(tuning, options));
  }
  return 0;
}

}  // namespace

void addTune(CLI::App& app, Command& chosen) {
  auto [command, options] = addCommand(
      app, chosen, "tune",
      "Find the settings that would have made a run's steps shortest, and try them", print);
  command->add_option("RUN", options->path, "Run file, live or finished")->required();
  command
      ->add_option("--rule", options->rule,
                   "exact: the best of all cuts, by dynamic programming; mg-wfbp: by the greedy "
                   "rule of Shi et al., INFOCOM 2019")
      ->check(CLI::IsMember({"exact", "mg-wfbp"}))
      ->capture_default_str();
  command
      ->add_option("--hook-of", options->hookOf,
                   "A run whose hook is tried, too, with the work that it did there; may be given "
                   "often")
      ->option_text("RUN2 ...")
      ->expected(1)
      ->take_all();
  command->add_flag("--run", options->run,
                    "Run the best in alternation with the run's own settings, and say which won");
  command
      ->add_option("--candidates", options->candidates,
                   "How many settings are run, the run's own among them")
      ->check(CLI::Range(2, 9))
      ->capture_default_str();
  command
      ->add_option("--rounds", options->rounds.rounds,
                   "How often each is run at most: after a third and two thirds of that it ends "
                   "where it can be told")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--steps", options->rounds.steps, "Iterations of each of these runs")
      ->check(CLI::Range(4, 100'000))
      ->capture_default_str();
  command->add_option("--out", options->rounds.folder,
                      "Folder that keeps the run files of these runs");
  command->add_option("--apply", options->apply,
                      "Write the run's experiment with the settings that won, or without --run "
                      "those that surely make shorter steps, to this file");
  command->add_flag("--force", options->force, "Let --apply overwrite a file");
  command->add_flag("--json", options->json, "Print all that is known, as JSON");
  command->footer(
      "From when each gradient was ready on the last rank, in the medians of the last 64 steps,\n"
      "and from what the communication of a bucket costs, one bucket in flight at a time: where\n"
      "buckets should end. Then caps, these lists, how many buckets are in flight on a modelled\n"
      "link, gradients as views, and hooks of which --hook-of names a run, each with each other,\n"
      "by how short a replay makes the step. What they come to is forecast as whatif does it,\n"
      "with where a run is expected in nine cases of ten. Only runs can tell: --run lets the best\n"
      "of them and the run's own settings take turns, and says by how much one won, or that there\n"
      "is no difference beyond noise.");
}

}  // namespace lockstep::cli
