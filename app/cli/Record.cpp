#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/AddCommand.h"
#include "app/cli/Complaint.h"
#include "app/cli/FreshRunFile.h"
#include "app/cli/JobEnvironment.h"
#include "app/cli/RunReportText.h"
#include "engine/base/ShellWords.h"
#include "engine/base/Try.h"
#include "engine/launch/Job.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ExitCode;

struct RecordArguments {
  std::vector<std::string> command;
  std::string out;
  std::string name;
  JobWatching watching;
  std::string detail = "full";
  std::uint64_t limitMb = 0;
  std::optional<std::string> listen;  // "": at this host's address
  std::string tokenFile;
  bool quiet = false;
};

base::Result<int> record(const RecordArguments& arguments) {
  if (arguments.command.empty()) {
    return Error{ExitCode::kBadInput,
                 "needs a command behind --, as in lockstep record -- python train.py", "record"};
  }
  if (!arguments.tokenFile.empty() && !arguments.listen) {
    return Error{ExitCode::kBadInput, "is for relays of other hosts, which come with --listen",
                 "--token-file"};
  }
  launch::JobOptions options;
  options.command = arguments.command;
  options.name = arguments.name.empty() ? base::commandName(arguments.command) : arguments.name;
  options.environment = LOCKSTEP_TRY(jobEnvironment(arguments.watching));
  options.runFile = arguments.out.empty() ? freshRunFile(options.name) : fs::path(arguments.out);
  options.numberIfTaken = arguments.out.empty();
  constexpr std::uint64_t kMiB = 1 << 20;
  options.detail = {capture::detailNamed(arguments.detail), arguments.limitMb * kMiB};
  options.wrote = passOn;
  options.listen = arguments.listen;
  options.tokenFile = arguments.tokenFile;
  options.announce = [](const std::string& text) { complain(text); };
  const launch::JobOutcome job = LOCKSTEP_TRY(launch::recordJob(options));
  if (!job.failure.empty()) {
    complain(job.state == trace::RunState::kDiverged ? "diverged: " + job.failure : job.failure);
  }
  if (!job.warning.empty()) {
    complain(job.warning);
  }
  if (!arguments.quiet && !job.runFile.empty()) {
    // On stderr: the output of the job itself may go into a file or to another program.
    if (const auto report = report::readRunReport(job.runFile); report.ok()) {
      printPlain(summaryText(report.value(), job.runFile), stderr);
    } else {
      complain("cannot read back the run: " + report.error().message());
    }
  }
  return job.exitCode;
}

}  // namespace

void addRecord(CLI::App& app, Command& chosen) {
  auto [command, arguments] = addCommand(
      app, chosen, "record",
      "Start a job that trains with PyTorch (python train.py, torchrun ...) and record it; ends as "
      "it ends, with its exit code. On several hosts: this with --listen on one of them, lockstep "
      "join -- COMMAND on the others",
      record);
  command->add_option("COMMAND", arguments->command, "The command and its arguments, behind --")
      ->option_text("-- COMMAND ...");
  command->add_option("--out", arguments->out,
                      "Run file to write; default: runs/<name>-<UTC time>.lockstep");
  command->add_option("--name", arguments->name, "Name of the run; default: that of the script");
  addWatching(*command, arguments->watching);
  command
      ->add_option("--detail", arguments->detail,
                   "What the run file keeps: all events (full); of each step its phases and "
                   "collectives (steps); or the sums of each step, and all events of steps and "
                   "ranks that are unlike the rest (outliers)")
      ->check(CLI::IsMember({"full", "steps", "outliers"}));
  command
      ->add_option("--limit-mb", arguments->limitMb,
                   "MiB of the run file, near which only sums of steps are written, and at which "
                   "nothing more; the job goes on. 0: none")
      ->check(CLI::Range(0, 1'000'000'000))
      ->option_text("MIB");
  command
      ->add_option("--listen", arguments->listen,
                   "Record a job of several hosts: where their relays (lockstep join) reach this "
                   "one, ADDRESS[:PORT]; without it this host's address")
      ->expected(0, 1)
      ->option_text("[ADDRESS[:PORT]]");
  command->add_option("--token-file", arguments->tokenFile,
                      "With --listen: where the run's token is written, for the other hosts; "
                      "default: a file that is named when it starts");
  command->add_flag("--quiet", arguments->quiet, "No summary behind the job's own output");
  command->positionals_at_end();
}

}  // namespace lockstep::cli
