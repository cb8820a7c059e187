#include "app/cli/TuneRuns.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "app/cli/Complaint.h"
#include "app/cli/ProgressLine.h"
#include "engine/analysis/Compare.h"
#include "engine/analysis/RunMeans.h"
#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/cost/Sample.h"
#include "engine/experiment/Parse.h"
#include "engine/launch/Supervisor.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kLooks = 3;  // at the ratios, until they tell
// Of the run's own steps; for what saves less no further rounds are run.
constexpr double kWorthHaving = 0.99;

/// Whether the ratios are looked at after so many rounds: Note [Runs in alternation].
bool isLookedAt(int rounds, int most) {
  return rounds == most || rounds == (most + 2) / 3 || rounds == (2 * most + 2) / 3;
}

/// Where the run files of the rounds lie; gone in the end where nobody asked for them.
class RunFolder {
 public:
  explicit RunFolder(const fs::path& asked)
      : path_(asked.empty()
                  ? fs::temp_directory_path() / fmt::format("lockstep-tune-{}", ::getpid())
                  : asked),
        isKept_(!asked.empty()) {}
  ~RunFolder() {
    std::error_code ignored;
    if (!isKept_) {
      fs::remove_all(path_, ignored);
    }
  }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  [[nodiscard]] fs::path file(int round, std::size_t number) const {
    return path_ / fmt::format("round-{}-settings-{}.lockstep", round + 1, number);
  }

 private:
  fs::path path_;
  bool isKept_;
};

/// The experiment for a few steps, and nothing but steps.
experiment::Experiment shortened(experiment::Experiment experiment, int steps) {
  experiment.train.epochs.reset();
  experiment.train.steps = steps;
  experiment.train.evaluateAtEnd = false;
  experiment.train.evaluateEvery = 0;
  experiment.train.checkpoint.clear();
  experiment.train.checkpointEvery = 0;
  experiment.train.resumeFrom.clear();
  experiment.sweep = {};
  return experiment;
}

base::Result<double> medianStepMs(const fs::path& runFile) {
  const analysis::RunData data = LOCKSTEP_TRY(analysis::readRunData(runFile));
  const auto median = cost::median(
      analysis::iterationSamples(data, analysis::analyse(data), analysis::Metric::kStep));
  if (!median) {
    return base::Error{base::ExitCode::kBadInput, "nothing measured", runFile.string()};
  }
  return *median;
}

base::Result<double> runExperiment(const experiment::Experiment& experiment,
                                   const fs::path& runFile, bool quiet) {
  launch::LaunchOptions options;
  options.experiment = experiment;
  options.experimentToml = experiment::toToml(experiment);
  options.runFile = runFile;
  options.announce = [](const std::string& text) { complain(text); };
  ProgressLine line(stderr, ProgressLine::styleFor(stderr, quiet));
  const auto outcome = launch::superviseRun(
      options, [&line](const launch::LaunchProgress& progress) { line.show(progress); });
  line.clear();
  if (!outcome.ok()) {
    return outcome.error();
  }
  if (outcome.value().stopped || outcome.value().exitCode != base::ExitCode::kOk) {
    return base::Error{outcome.value().exitCode,
                       outcome.value().failure.empty() ? "stopped" : outcome.value().failure,
                       runFile.string()};
  }
  return medianStepMs(runFile);
}

std::string ratioText(const MeasuredSettings& of) {
  return fmt::format("{:.3f} of those with the run's own settings ({:.3f} to {:.3f})",
                     of.ratio->mean, of.ratio->low, of.ratio->high);
}

}  // namespace

base::Result<std::vector<MeasuredSettings>> inRounds(std::vector<MeasuredSettings> all, int most,
                                                     const RunOnce& runOnce) {
  const auto others = static_cast<double>(std::max<std::size_t>(all.size() - 1, 1));
  const double tail = analysis::kSignificant / 2 / others / kLooks;
  for (int round = 0; round < most; ++round) {
    for (std::size_t place = 0; place < all.size(); ++place) {
      const std::size_t number = round % 2 == 0 ? place : all.size() - 1 - place;
      all[number].stepMs.push_back(LOCKSTEP_TRY(runOnce(all[number].settings, round, number)));
    }
    if (isLookedAt(round + 1, most)) {
      for (std::size_t number = 1; number < all.size(); ++number) {
        all[number].ratio = analysis::pairedRatio(all[0].stepMs, all[number].stepMs, tail);
      }
      if (isTold(all)) {
        break;
      }
    }
  }
  return all;
}

base::Result<std::vector<MeasuredSettings>> runInRounds(
    const experiment::Experiment& own, const std::vector<analysis::TunedSettings>& others,
    const RoundsOptions& options) {
  const RunFolder folder(options.folder);
  std::vector<MeasuredSettings> all{{{}, {}}};
  for (const analysis::TunedSettings& settings : others) {
    all.push_back({settings, {}});
  }
  return inRounds(std::move(all), options.rounds,
                  [&](const analysis::TunedSettings& settings, int round, std::size_t number) {
                    if (!options.quiet) {
                      complain(fmt::format("round {} of at most {}: {}", round + 1, options.rounds,
                                           settings.text()));
                    }
                    return runExperiment(shortened(settings.appliedTo(own), options.steps),
                                         folder.file(round, number), options.quiet);
                  });
}

bool isTold(const std::vector<MeasuredSettings>& measured) {
  const MeasuredSettings* const winner = winnerOf(measured);
  const double toBeat = winner == nullptr ? kWorthHaving : winner->ratio->mean;
  return std::all_of(measured.begin() + 1, measured.end(), [&](const MeasuredSettings& one) {
    return one.ratio && (one.isFaster() || one.ratio->low >= toBeat);
  });
}

const MeasuredSettings* winnerOf(const std::vector<MeasuredSettings>& measured) {
  const MeasuredSettings* winner = nullptr;
  for (const MeasuredSettings& one : measured) {
    if (one.isFaster() && (winner == nullptr || one.ratio->mean < winner->ratio->mean)) {
      winner = &one;
    }
  }
  return winner;
}

std::string verdictText(const std::vector<MeasuredSettings>& measured) {
  const std::string how = fmt::format("{} in alternation, 99 % for all together",
                                      base::countedText(measured.front().stepMs.size(), "round"));
  if (const MeasuredSettings* const winner = winnerOf(measured)) {
    return fmt::format("\"{}\" won: its steps took {}; {}.", winner->settings.text(),
                       ratioText(*winner), how);
  }
  const MeasuredSettings* best = nullptr;
  for (const MeasuredSettings& one : measured) {
    if (one.ratio && (best == nullptr || one.ratio->mean < best->ratio->mean)) {
      best = &one;
    }
  }
  if (best == nullptr) {
    return "Nothing can be told: it takes two rounds to tell chance from effect.";
  }
  if (best->ratio->low > 1) {
    return fmt::format(
        "The run's own settings won: the steps of the next best, \"{}\", took {}; {}.",
        best->settings.text(), ratioText(*best), how);
  }
  return fmt::format("No difference beyond noise: the steps of \"{}\", the best, took {}; {}.",
                     best->settings.text(), ratioText(*best), how);
}

}  // namespace lockstep::cli
