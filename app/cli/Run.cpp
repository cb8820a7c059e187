#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <memory>
#include <vector>

#include "app/cli/Commands.h"
#include "app/cli/Complaint.h"
#include "app/cli/ProgressLine.h"
#include "app/cli/ReadExperiment.h"
#include "app/cli/RunReport.h"
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
  bool json = false;
  bool quiet = false;
};

/// Returns runs/<name>-<UTC stamp>.lockstep, with a number when that is taken.
std::filesystem::path freshRunFile(const std::string& name) {
  std::string stem;
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    stem += plain ? c : '-';
  }
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char stamp[32];
  std::strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &utc);
  std::filesystem::path path = fmt::format("runs/{}-{}.lockstep", stem, stamp);
  std::error_code ignored;
  for (int number = 2; std::filesystem::exists(path, ignored); ++number) {
    path = fmt::format("runs/{}-{}-{}.lockstep", stem, stamp, number);
  }
  return path;
}

/// Prints what the run came to; returns the exit code.
int conclude(const RunArguments& arguments, const std::filesystem::path& runFile,
             const launch::LaunchOutcome& outcome) {
  if (!outcome.failure.empty()) {
    complain(outcome.failure);
  }
  if (!outcome.warning.empty()) {
    complain(outcome.warning);
  }
  if (arguments.quiet && !arguments.json) {
    return static_cast<int>(outcome.exitCode);
  }
  const auto report = readRunReport(runFile);
  if (!report.ok()) {
    complain("cannot read back the run: " + report.error().message());
    return static_cast<int>(outcome.exitCode == ExitCode::kOk ? report.error().code
                                                              : outcome.exitCode);
  }
  if (arguments.json) {
    fmt::print("{}\n", toJson(report.value()));
  } else {
    fmt::print("{}", summaryText(report.value(), runFile));
  }
  return static_cast<int>(outcome.exitCode);
}

int run(const RunArguments& arguments) {
  const auto overrides = overridesOf(arguments.sets, "--set");
  if (!overrides.ok()) {
    return fail(overrides.error());
  }
  auto parsed = readExperiment(arguments.file, overrides.value());
  if (!parsed.mistakes.empty()) {
    return fail(parsed.mistakes);
  }
  launch::LaunchOptions options;
  options.experiment = std::move(parsed.experiment);
  options.experimentToml = experiment::toToml(options.experiment);
  options.runFile =
      arguments.out.empty() ? freshRunFile(options.experiment.name) : std::filesystem::path(arguments.out);

  ProgressLine line(stderr, ProgressLine::styleFor(stderr, arguments.quiet));
  const auto outcome = launch::superviseRun(
      options, [&line](const launch::LaunchProgress& progress) { line.show(progress); });
  line.clear();
  return outcome.ok() ? conclude(arguments, options.runFile, outcome.value())
                      : fail(outcome.error());
}

}  // namespace

void addRun(CLI::App& app, Command& chosen) {
  auto* command = app.add_subcommand("run", "Run an experiment and record it");
  auto arguments = std::make_shared<RunArguments>();
  command->add_option("FILE", arguments->file, "Experiment file (TOML)")->required();
  command->add_option("--set", arguments->sets, "Override one key, e.g. --set ddp.bucket_cap_mb=4")
      ->option_text("KEY=VALUE ...")
      ->expected(1)
      ->take_all();
  command->add_option("--out", arguments->out,
                      "Run file to write; default: runs/<name>-<UTC time>.lockstep");
  command->add_flag("--json", arguments->json, "End with one JSON object, as info --json prints");
  command->add_flag("--quiet", arguments->quiet, "Print errors only");
  command->footer([] { return "Keys of an experiment file:\n" + experiment::describeSchema(); });
  command->callback([&chosen, arguments] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace lockstep::cli
