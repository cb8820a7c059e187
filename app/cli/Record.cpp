#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "app/cli/Commands.h"
#include "app/cli/Complaint.h"
#include "app/cli/FreshRunFile.h"
#include "app/cli/PythonFolder.h"
#include "app/cli/RunReport.h"
#include "engine/launch/Job.h"
#include "engine/launch/RankEnvironment.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ExitCode;

struct RecordArguments {
  std::vector<std::string> command;
  std::string out;
  std::string name;
  std::string attach = "watch";
  int checkReplicas = 0;
  bool quiet = false;
};

/// The script of a command, or else its program: what people call it by.
std::string nameOf(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    if (const fs::path path(word); path.extension() == ".py") {
      return path.stem().string();
    }
  }
  return fs::path(command.front()).filename().string();
}

/// Sets a variable for the command, unless `keep` and there is one.
void set(std::vector<std::string>& environment, const std::string& key, const std::string& value,
         bool keep) {
  const auto found =
      std::find_if(environment.begin(), environment.end(),
                   [&](const std::string& entry) { return entry.starts_with(key + "="); });
  if (found == environment.end()) {
    environment.push_back(key + "=" + value);
  } else if (!keep) {
    *found = key + "=" + value;
  }
}

base::Result<std::vector<std::string>> environmentFor(const RecordArguments& arguments) {
  const auto folder = pythonFolder();
  if (!folder.ok()) {
    return folder.error();
  }
  std::vector<std::string> environment = launch::inheritedEnvironment();
  const char* before = std::getenv("PYTHONPATH");
  std::string path = folder.value().string();
  if (arguments.attach == "auto") {
    path = (folder.value() / "lockstep" / "auto").string() + ":" + path;
  }
  set(environment, "PYTHONPATH", before != nullptr && *before != '\0' ? path + ":" + before : path,
      false);
  if (arguments.checkReplicas > 0) {
    set(environment, "LOCKSTEP_CHECK_REPLICAS", std::to_string(arguments.checkReplicas), false);
  }
  // NCCL loads it, and asks nothing of it before a process attaches. Of a longer name it takes a part.
  constexpr std::size_t kLongestPlugin = 254;
  const fs::path plugin = folder.value() / "lockstep" / "liblockstep_nccl_profiler.so";
  if (std::error_code error;
      fs::is_regular_file(plugin, error) && plugin.string().size() <= kLongestPlugin) {
    set(environment, "NCCL_PROFILER_PLUGIN", plugin.string(), true);
  }
  // What it prints goes through a pipe, which Python would fill before it tells.
  set(environment, "PYTHONUNBUFFERED", "1", true);
  return environment;
}

void passOn(bool isError, std::string_view bytes) {
  std::FILE* stream = isError ? stderr : stdout;
  std::fwrite(bytes.data(), 1, bytes.size(), stream);
  std::fflush(stream);
}

int record(const RecordArguments& arguments) {
  if (arguments.command.empty()) {
    return fail(Error{ExitCode::kBadInput,
                      "needs a command behind --, as in lockstep record -- python train.py",
                      "record"});
  }
  auto environment = environmentFor(arguments);
  if (!environment.ok()) {
    return fail(environment.error());
  }
  launch::JobOptions options;
  options.command = arguments.command;
  options.name = arguments.name.empty() ? nameOf(arguments.command) : arguments.name;
  options.environment = std::move(environment).value();
  options.runFile = arguments.out.empty() ? freshRunFile(options.name) : fs::path(arguments.out);
  options.numberIfTaken = arguments.out.empty();
  options.wrote = passOn;
  const auto outcome = launch::recordJob(options);
  if (!outcome.ok()) {
    return fail(outcome.error());
  }
  const launch::JobOutcome& job = outcome.value();
  if (!job.failure.empty()) {
    complain(job.state == trace::RunState::kDiverged ? "diverged: " + job.failure : job.failure);
  }
  if (!job.warning.empty()) {
    complain(job.warning);
  }
  if (!arguments.quiet && !job.runFile.empty()) {
    // Behind the job's own output, which may go somewhere.
    if (const auto report = readRunReport(job.runFile); report.ok()) {
      printPlain(summaryText(report.value(), job.runFile), stderr);
    } else {
      complain("cannot read back the run: " + report.error().message());
    }
  }
  return job.exitCode;
}

}  // namespace

void addRecord(CLI::App& app, Command& chosen) {
  auto* command = app.add_subcommand(
      "record",
      "Start a job that trains with PyTorch (python train.py, torchrun ...) and record it; ends as "
      "it ends, with its exit code");
  auto arguments = std::make_shared<RecordArguments>();
  command->add_option("COMMAND", arguments->command, "The command and its arguments, behind --")
      ->option_text("-- COMMAND ...");
  command->add_option("--out", arguments->out,
                      "Run file to write; default: runs/<name>-<UTC time>.lockstep");
  command->add_option("--name", arguments->name, "Name of the run; default: that of the script");
  command
      ->add_option("--attach", arguments->attach,
                   "Which models are watched: those that the script hands to lockstep.watch "
                   "(watch), or every DistributedDataParallel that it makes, and the "
                   "collectives of all process groups (auto)")
      ->check(CLI::IsMember({"watch", "auto"}));
  command
      ->add_option("--check-replicas", arguments->checkReplicas,
                   "Compare the ranks' parameters bit for bit every so many iterations: the run "
                   "has diverged where they differ; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->option_text("N");
  command->add_flag("--quiet", arguments->quiet, "No summary behind the job's own output");
  command->positionals_at_end();
  command->callback([&chosen, arguments] { chosen = [arguments] { return record(*arguments); }; });
}

}  // namespace lockstep::cli
