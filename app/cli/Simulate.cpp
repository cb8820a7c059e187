#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/AddCommand.h"
#include "app/cli/ForecastJson.h"
#include "app/cli/SimulateJson.h"
#include "app/cli/SimulateOptions.h"
#include "app/cli/TextTable.h"
#include "engine/analysis/RecordedHook.h"
#include "engine/analysis/RecordedSteps.h"
#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/cost/ForecastText.h"
#include "engine/cost/VerifiedHook.h"
#include "engine/plugin/VerifiedHooks.h"
#include "engine/simulate/RecordedQuestion.h"
#include "engine/simulate/ScalingText.h"
#include "engine/simulate/SimulatedRun.h"
#include "engine/trace/RunFile.h"

namespace lockstep::cli {
namespace {

using simulate::RanksForecast;

struct SimulateOptions {
  std::string path;
  std::string ranks;
  int ranksPerNode = 0;
  std::string link;
  std::string hook;  ///< that was verified; empty: none
  std::string hookOf;
  std::string algorithm = "auto";
  std::size_t steps = 64;
  std::uint64_t seed = 0;
  double efficiencyPercent = 80;
  std::string out;
  std::vector<int> show;
  bool json = false;
};

/// What is simulated, and into which file.
struct Asked {
  simulate::ScalingQuestion question;
  simulate::SimulatedRunFacts facts;
  std::string hook;    ///< name of the other one
  std::string ofHook;  ///< a sentence: what is taken of one that was verified
};

/// Takes a hook as it was verified, on all of these ranks.
base::Status takeVerifiedHook(const SimulateOptions& options,
                              const analysis::RecordedSteps& recorded, Asked& asked) {
  const auto hook = LOCKSTEP_TRY(plugin::verifiedHook(options.hook));
  auto told =
      cost::verifiedWork(hook, asked.question.ranks, analysis::meanBucketBytes(recorded.layout));
  if (!told.ok()) {
    return cannotTell(options.path, told.error());
  }
  asked.question.hook = told.value().work;
  asked.hook = options.hook;
  asked.ofHook = std::move(told.value().text);
  return {};
}

/// Takes the hook of the run that was named.
base::Status takeHook(const SimulateOptions& options, const analysis::RecordedSettings& settings,
                      Asked& asked) {
  const auto told = [&options](const base::Error& why) {
    return why.where.empty() ? cannotTell(options.path, why) : why;
  };
  const auto hook = analysis::readRecordedHook(options.hookOf);
  if (!hook.ok()) {
    return told(hook.error());
  }
  cost::StepChange change;
  if (const auto same = analysis::changeHook(settings, hook.value(), change); !same.ok()) {
    return told(same.error());
  }
  asked.question.hook = change.hook;
  asked.hook = hook.value().settings.experiment.hook.name;
  return {};
}

base::Result<Asked> asked(const SimulateOptions& options) {
  Asked asked;
  const std::vector<int> ranks = LOCKSTEP_TRY(ranksFrom(options.ranks));
  std::optional<simulate::LinkCost> link;
  if (!options.link.empty()) {
    link = LOCKSTEP_TRY(linkFrom(options.link));
  }
  LOCKSTEP_TRY(canBeShown(options.show, ranks.back()));
  auto recorded = LOCKSTEP_TRY(analysis::readStepsOfAnyRun(options.path));
  const auto summary = LOCKSTEP_TRY(trace::readRunSummary(options.path));
  LOCKSTEP_TRY(noneFewer(ranks, recorded.settings.worldSize));
  simulate::ScalingQuestion& question = asked.question;
  question = simulate::questionOf(recorded, summary.ranks);
  question.ranks = ranks;
  question.link = link;
  if (!options.hook.empty()) {
    LOCKSTEP_TRY(takeVerifiedHook(options, recorded, asked));
  } else if (!options.hookOf.empty()) {
    LOCKSTEP_TRY(takeHook(options, recorded.settings, asked));
  }
  if (question.hook && !question.run.hook) {
    const auto own = analysis::readRecordedHook(options.path);
    question.run.hook = own.ok() ? std::optional(own.value().work) : std::nullopt;
  }
  if (options.ranksPerNode > 0) {
    question.ranksPerNode = options.ranksPerNode;
  }
  question.algorithm = *simulate::algorithmNamed(options.algorithm);
  question.steps = options.steps;
  question.seed = options.seed;
  asked.facts = {options.out,
                 summary.info.name,
                 summary.info.runId,
                 options.path,
                 std::move(recorded.parameters),
                 std::move(recorded.layout),
                 question.ranks.back(),
                 options.show};
  return asked;
}

/// "runs/big.lockstep: 4,096 ranks, of which 3 are shown, as its ranks 0 to 2: ranks 0, 17, 2044";
/// of --out.
std::string writtenText(const Simulated& told) {
  constexpr std::size_t kMostNamed = 8;
  return fmt::format("{}: {}, of which {} are shown, as its ranks 0 to {}: {}", told.runFile,
                     base::countedText(static_cast<std::uint64_t>(told.rows.back().ranks), "rank"),
                     told.shown.size(), told.shown.size() - 1,
                     base::ranksText(told.shown, kMostNamed));
}

std::string textOf(const Simulated& told) {
  const simulate::Scaling& scaling = told.scaling;
  TextTable table({"ranks", "step", "exposed", "efficiency", "bound by", "allreduce", ""});
  const auto own = [&](const RanksForecast& of, const char* what) {
    table.add({base::countText(static_cast<std::uint64_t>(of.ranks)),
               base::durationText(of.stepNs.value), base::durationText(of.exposedNs.value),
               base::percentText(100 * of.efficiency.value, 0), "", "", what});
  };
  own(scaling.measured(), "measured");
  own(scaling.simulated(), "the same, simulated");
  for (const RanksForecast& of : told.rows) {
    table.add({base::countText(static_cast<std::uint64_t>(of.ranks)), cost::estimateText(of.stepNs),
               cost::estimateText(of.exposedNs), simulate::efficiencyText(of.efficiency),
               std::string(simulate::name(of.bound)), std::string(simulate::name(of.by)),
               of.extrapolated ? "extrapolated" : ""});
  }
  std::string text = fmt::format(
      "Simulated from {} steps of {} ranks{}: medians over {} steps each, seed {}; in brackets, "
      "where "
      "nine of ten runs are expected. {}\n\n{}\n{}\n",
      scaling.recorded().steps, scaling.recorded().ranks,
      told.hook.empty() ? "" : ", with the hook " + told.hook, scaling.question().steps,
      scaling.question().seed,
      cost::costText(scaling.fit()) + (told.ofHook.empty() ? "" : " " + told.ofHook), table.text(),
      simulate::breakingText(told.breaks, simulate::rowsFromOwn(scaling, told.rows)));
  if (const std::string tail = simulate::tailText(scaling, told.rows); !tail.empty()) {
    text += tail + "\n";
  }
  if (!told.runFile.empty()) {
    text += writtenText(told) + "\n";
  }
  return text;
}

base::Result<int> printSimulation(const SimulateOptions& options) {
  auto what = LOCKSTEP_TRY(asked(options));
  auto made = simulate::Scaling::make(std::move(what.question));
  if (!made.ok()) {
    return cannotTell(options.path, made.error());
  }
  Simulated told{
      options.path, std::move(made).value(), {}, {}, what.hook, what.ofHook, options.out, {}};
  if (!options.out.empty()) {  // first, since it fails sooner than forecasts are made
    told.shown = LOCKSTEP_TRY(simulate::writeSimulatedRun(told.scaling, what.facts));
  }
  told.rows = told.scaling.forecast();
  told.breaks = simulate::breakingPoint(simulate::rowsFromOwn(told.scaling, told.rows),
                                        options.efficiencyPercent / 100);
  fmt::print("{}", options.json ? toJson(told) : textOf(told));
  return 0;
}

}  // namespace

void addSimulate(CLI::App& app, Command& chosen) {
  auto [command, options] =
      addCommand(app, chosen, "simulate", "Say what a step of a run would take on more ranks",
                 printSimulation);
  command->add_option("RUN", options->path, "Run file, live or finished")->required();
  command
      ->add_option("--ranks", options->ranks,
                   "How many: a number, a list as 8,12,16, or 8..4096 for each doubling")
      ->required();
  addChecked(*command, "--ranks-per-node", options->ranksPerNode, CLI::Range(1, 65'536),
             "Ranks of a node, which share its link; without it as the run's link has it");
  command->add_option("--link", options->link,
                      "The link between nodes: a preset of link.preset, or LATENCY,BANDWIDTH in "
                      "microseconds and Gbit/s; without it that of the run");
  auto* hookOf =
      command->add_option("--hook-of", options->hookOf,
                          "A run with another hook, of as many ranks: what it sends and works");
  command
      ->add_option("--hook", options->hook,
                   "A hook by name, as lockstep hooks NAME --verify measured it on this machine")
      ->excludes(hookOf);
  command
      ->add_option("--algorithm", options->algorithm,
                   "Of the allreduce; auto: the fastest of the others for each bucket")
      ->check(CLI::IsMember({"ring", "tree", "hierarchical", "auto"}))
      ->capture_default_str();
  addChecked(*command, "--steps", options->steps, CLI::Range(8, 100'000),
             "Steps to simulate for each number of ranks")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Of the random numbers")->capture_default_str();
  addChecked(*command, "--efficiency", options->efficiencyPercent, CLI::Range(1.0, 99.0),
             "The bound, in per cent, of which it says where a step falls below")
      ->capture_default_str();
  command->add_option("--out", options->out,
                      "Write the largest number of ranks as a run file, which says that it is "
                      "simulated");
  command
      ->add_option("--show", options->show,
                   "Ranks whose spans are in that file, as 3,17; rank 0, the one in the middle and "
                   "the latest always are")
      ->delimiter(',');
  command->add_flag("--json", options->json, "Print all that is known, as JSON");
  command->footer(
      "Each simulated rank does the work of a recorded one, as late as ranks of the recording are\n"
      "beyond the mean, or later: the largest are drawn from a tail fitted to them. Buckets are\n"
      "carried when the last rank has come, by what an allreduce of so many ranks costs on the\n"
      "link. Efficiency is the step without communication and waiting, of the step; bound by "
      "names\n"
      "what would make it shorter by most: links without limit (bandwidth), without latency, or\n"
      "ranks that all take as long as the mean one (stragglers' jitter). Congestion and hosts of\n"
      "another kind are in no recording of few ranks. A shaped link carries a ring: to compare "
      "with\n"
      "a run over one, take --algorithm ring. Where the run cannot tell, it says why, and exits\n"
      "with 2.");
}

}  // namespace lockstep::cli
