// Supervises fake ranks in a process of its own, for tests that signal or kill a supervisor.
//
//   lockstep_supervise_fixture RUNFILE WORLD_SIZE STOP_GRACE_MS
//
// Prints "training PID..." once every rank trains, and "outcome STATE" at the end.

#include <cstdio>
#include <cstdlib>

#include "engine/launch/Supervisor.h"

int main(int argc, char** argv) {
  using namespace lockstep;
  if (argc != 4) {
    return 2;
  }
  launch::LaunchOptions options;
  options.runFile = argv[1];
  options.experiment.processes.worldSize = std::atoi(argv[2]);
  options.limits.stopGrace = std::chrono::milliseconds(std::atoi(argv[3]));
  bool told = false;
  const auto outcome = launch::superviseRun(options, [&](const launch::LaunchProgress& progress) {
    if (told || progress.state != trace::RunState::kRunning) {
      return;
    }
    const auto summary = trace::readRunSummary(options.runFile);
    if (!summary.ok() || summary.value().ranks.empty()) {
      return;
    }
    std::string line = "training";
    for (const auto& rank : summary.value().ranks) {
      if (rank.state != "running") {
        return;
      }
      line += " " + std::to_string(rank.pid);
    }
    std::puts(line.c_str());
    std::fflush(stdout);
    told = true;
  });
  if (!outcome.ok()) {
    std::fprintf(stderr, "%s\n", outcome.error().message().c_str());
    return static_cast<int>(outcome.error().code);
  }
  std::printf("outcome %s\n", std::string(trace::name(outcome.value().state)).c_str());
  return static_cast<int>(outcome.value().exitCode);
}
