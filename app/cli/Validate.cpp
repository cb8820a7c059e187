#include <fmt/format.h>

#include <cstdio>
#include <vector>

#include "app/cli/AddCommand.h"
#include "app/cli/Complaint.h"
#include "app/cli/ReadExperiment.h"

namespace lockstep::cli {
namespace {

int validate(const std::vector<std::string>& files) {
  int exitCode = 0;
  for (const auto& file : files) {
    const auto swept = readSweep(file);
    if (!swept.mistakes.empty()) {
      exitCode = fail(swept.mistakes);
      continue;
    }
    if (swept.isSweep()) {
      fmt::print("{}: ok, {} runs\n", file, swept.runs.size());
      for (const auto& run : swept.runs) {
        fmt::print("  {}\n", run.label);
      }
    } else {
      fmt::print("{}: ok\n", file);
    }
    std::fflush(stdout);
  }
  return exitCode;
}

}  // namespace

void addValidate(CLI::App& app, Command& chosen) {
  auto [command, files] = addCommand(
      app, chosen, "validate",
      "Check experiment files and report every mistake; list the runs of a sweep", validate);
  command->add_option("FILE", *files, "Experiment files (TOML)")->required();
}

}  // namespace lockstep::cli
