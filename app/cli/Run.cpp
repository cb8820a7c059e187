#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <vector>

#include "app/cli/AddCommand.h"
#include "app/cli/Complaint.h"
#include "app/cli/FreshRunFile.h"
#include "app/cli/ProgressLine.h"
#include "app/cli/ReadExperiment.h"
#include "app/cli/RunReportText.h"
#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/experiment/Schema.h"
#include "engine/launch/Supervisor.h"

namespace lockstep::cli {
namespace {

using base::Error;
using base::ExitCode;

struct RunArguments {
  std::string file;
  std::vector<std::string> sets;
  std::string out;
  std::string launcher;  // these five are short forms of --set
  int nnodes = 0;
  int ranksPerNode = 0;
  std::vector<std::string> launcherArguments;
  std::string listen;
  bool json = false;
  bool quiet = false;
};

namespace fs = std::filesystem;

/// Returns the run file of one run of a sweep beside the path that was asked for.
fs::path besides(const fs::path& out, const std::string& part) {
  const bool suffixed = out.extension() == ".lockstep";
  const fs::path stem = suffixed ? out.parent_path() / out.stem() : out;
  return stem.string() + '-' + part + ".lockstep";
}

/// Returns a part of a file's name for each run of a sweep: what is varied in it, and its number
/// where that is too long for a name or would be the same for two.
/// Two runs with one name would be one file, of which the second run overwrites the first; and a
/// name may have 255 bytes, with the experiment's name and the time in it, too.
std::vector<std::string> fileNameParts(const experiment::SweptExperiment& swept) {
  constexpr std::size_t kLongest = 120;
  std::vector<std::string> parts;
  std::map<std::string, int> uses;
  for (const auto& run : swept.runs) {
    parts.push_back(experiment::fileNamePart(run.label).substr(0, kLongest));
    ++uses[parts.back()];
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (uses[parts[i]] > 1 || parts[i].size() == kLongest) {
      parts[i] += fmt::format("-{}", i + 1);
    }
  }
  return parts;
}

struct RunEnd {
  int exitCode = 0;
  bool stopped = false;   ///< by a signal or by `lockstep stop`: nothing is to follow
  bool reported = false;  ///< its summary, or its JSON, was printed
};

/// Prints what the run file says that it came to.
RunEnd report(const RunArguments& arguments, const launch::LaunchOutcome& outcome) {
  RunEnd end{static_cast<int>(outcome.exitCode), outcome.stopped};
  if (arguments.quiet && !arguments.json) {
    return end;
  }
  const auto report = report::readRunReport(outcome.runFile);
  if (!report.ok()) {
    complain("cannot read back the run: " + report.error().message());
    // A run that failed keeps its own exit code, which says more than that its file cannot be read.
    if (outcome.exitCode == ExitCode::kOk) {
      end.exitCode = static_cast<int>(report.error().code);
    }
    return end;
  }
  if (arguments.json) {
    fmt::print("{}\n", toJson(report.value()));
  } else {
    printPlain(summaryText(report.value(), outcome.runFile));
  }
  std::fflush(stdout);
  end.reported = true;
  return end;
}

/// Says how the run ended and what it came to. That the figures of a run that went to its end are
/// worth nothing is the last thing said.
RunEnd conclude(const RunArguments& arguments, const launch::LaunchOutcome& outcome) {
  const bool diverged = outcome.state == trace::RunState::kDiverged;
  if (!outcome.failure.empty() && !diverged) {
    complain(outcome.failure);
  }
  if (!outcome.warning.empty()) {
    complain(outcome.warning);
  }
  const RunEnd end = report(arguments, outcome);
  if (diverged) {
    complain("diverged: " + outcome.failure);
  }
  return end;
}

RunEnd runOne(const RunArguments& arguments, experiment::Experiment experiment,
              const fs::path& runFile) {
  launch::LaunchOptions options;
  options.experiment = std::move(experiment);
  options.experimentToml = experiment::toToml(options.experiment);
  options.runFile = runFile;
  // A name that was asked for is taken as it is, or refused; one that was made up may get a number.
  options.numberIfTaken = arguments.out.empty();
  options.announce = [](const std::string& text) { complain(text); };

  ProgressLine line(stderr, ProgressLine::styleFor(stderr, arguments.quiet));
  const auto outcome = launch::superviseRun(
      options, [&line](const launch::LaunchProgress& progress) { line.show(progress); });
  line.clear();
  return outcome.ok() ? conclude(arguments, outcome.value()) : RunEnd{fail(outcome.error())};
}

std::string sweepSummary(std::size_t done, std::size_t failed, std::size_t count) {
  std::string text = base::countedText(done, "run");
  if (failed > 0) {
    text += done == 1 ? ", which did not end well"
                      : fmt::format(", {} of which did not end well", failed);
  }
  return done < count ? fmt::format("{}; {} not started", text, count - done) : text;
}

/// Runs all of a sweep, one after the other. A run that fails does not end it, since the others
/// are asked about too; being stopped does. Returns the exit code of the first that failed.
int runSweep(const RunArguments& arguments, experiment::SweptExperiment swept) {
  const std::string name = swept.runs.front().parsed.experiment.name;
  swept.nameRuns(fmt::format("{} {}", name, utcStamp()));
  const std::size_t count = swept.runs.size();
  const std::vector<std::string> parts = fileNameParts(swept);
  std::size_t done = 0;
  std::size_t failed = 0;
  int exitCode = 0;
  // Written as the runs end, since a sweep may take a night and be stopped. A run without a report
  // is a null, so that the list's n-th entry is the sweep's n-th run.
  if (arguments.json) {
    fmt::print("[\n");
  }
  for (auto& run : swept.runs) {
    const fs::path runFile = arguments.out.empty() ? freshRunFile(name, parts[done])
                                                   : besides(arguments.out, parts[done]);
    if (!arguments.quiet && !arguments.json) {
      fmt::print("{}run {} of {}: {}\n", done == 0 ? "" : "\n", done + 1, count, run.label);
      std::fflush(stdout);
    }
    if (arguments.json && done > 0) {
      fmt::print(",\n");
    }
    const RunEnd end = runOne(arguments, std::move(run.parsed.experiment), runFile);
    if (arguments.json && !end.reported) {
      fmt::print("null\n");
    }
    std::fflush(stdout);
    ++done;
    if (end.exitCode != 0) {
      ++failed;
      exitCode = exitCode == 0 ? end.exitCode : exitCode;
    }
    if (end.stopped) {
      break;
    }
  }
  if (arguments.json) {
    fmt::print("]\n");
  } else if (!arguments.quiet) {
    fmt::print("\n{}\n", sweepSummary(done, failed, count));
  }
  return exitCode;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  return result + '"';
}

/// Hosts that the file and what overrides it come to.
int hostsOf(const std::string& file, experiment::Overrides overrides,
            const experiment::Overrides& sets) {
  overrides.insert(overrides.end(), sets.begin(), sets.end());
  // The ranks may contradict the hosts as long as --nproc-per-node does not stand in it.
  return experiment::parseFile(file, overrides).experiment.launch.nnodes;
}

/// Writes out what the launcher's options stand for; --set comes after them and so wins.
experiment::Overrides launchOverrides(const RunArguments& arguments,
                                      const experiment::Overrides& sets) {
  experiment::Overrides overrides;
  if (!arguments.launcher.empty()) {
    overrides.emplace_back("launch.launcher", arguments.launcher);
  }
  if (arguments.nnodes > 0) {
    overrides.emplace_back("launch.nnodes", std::to_string(arguments.nnodes));
  }
  // The number of ranks is an option's own business, as it is with torchrun: without this,
  // --nproc-per-node would contradict the world size of nearly every experiment file.
  if (arguments.ranksPerNode > 0) {
    const std::int64_t hosts = hostsOf(arguments.file, overrides, sets);
    overrides.emplace_back("launch.ranks_per_node", std::to_string(arguments.ranksPerNode));
    overrides.emplace_back("processes.world_size", std::to_string(hosts * arguments.ranksPerNode));
  }
  if (!arguments.launcherArguments.empty()) {
    std::string list;
    for (const std::string& argument : arguments.launcherArguments) {
      list += (list.empty() ? "[" : ", ") + quoted(argument);
    }
    overrides.emplace_back("launch.arguments", list + "]");
  }
  if (!arguments.listen.empty()) {
    overrides.emplace_back("launch.listen", arguments.listen);
  }
  return overrides;
}

base::Result<int> run(const RunArguments& arguments) {
  const auto sets = LOCKSTEP_TRY(overridesOf(arguments.sets, "--set"));
  experiment::Overrides overrides = launchOverrides(arguments, sets);
  overrides.insert(overrides.end(), sets.begin(), sets.end());
  auto swept = readSweep(arguments.file, overrides);
  if (!swept.mistakes.empty()) {
    return fail(swept.mistakes);
  }
  if (swept.isSweep()) {
    return runSweep(arguments, std::move(swept));
  }
  experiment::Experiment experiment = std::move(swept.runs.front().parsed.experiment);
  const fs::path runFile =
      arguments.out.empty() ? freshRunFile(experiment.name, "") : fs::path(arguments.out);
  return runOne(arguments, std::move(experiment), runFile).exitCode;
}

}  // namespace

void addRun(CLI::App& app, Command& chosen) {
  auto [command, arguments] =
      addCommand(app, chosen, "run", "Run an experiment and record it", run);
  command->add_option("FILE", arguments->file, "Experiment file (TOML)")->required();
  command->add_option("--set", arguments->sets, "Override one key, e.g. --set ddp.bucket_cap_mb=4")
      ->option_text("KEY=VALUE ...")
      ->expected(1)
      ->take_all();
  command->add_option("--out", arguments->out,
                      "Run file to write; default: runs/<name>-<UTC time>.lockstep. For a sweep, "
                      "what is varied is added to its name");
  command->add_option("--launcher", arguments->launcher,
                      "Who starts the ranks: local, mpirun, srun or external (launch.launcher)");
  command->add_option("--nnodes", arguments->nnodes, "Hosts (launch.nnodes)")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--nproc-per-node", arguments->ranksPerNode,
                   "Ranks a host; sets processes.world_size, too (launch.ranks_per_node)")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--launcher-arg", arguments->launcherArguments,
                   "One more argument of mpirun or srun; may be given often (launch.arguments)")
      ->option_text("ARG ...")
      ->expected(1)
      ->take_all();
  command->add_option("--listen", arguments->listen,
                      "ADDRESS[:PORT] of this host for the recorder (launch.listen)");
  command->add_flag("--json", arguments->json,
                    "End with one JSON object, as info --json prints; a sweep with a list of them");
  command->add_flag("--quiet", arguments->quiet,
                    "Print errors only, and for --launcher external what to start");
  command->footer([] { return "Keys of an experiment file:\n" + experiment::describeSchema(); });
}

}  // namespace lockstep::cli
