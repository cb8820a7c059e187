// Stands in for `lockstep` where the studio is tested: `run` writes the file of a run that
// trains nothing, in real time; `stop` ends it; `import` writes one of traces that it does not read.
// What an experiment or a trace is called decides:
//   *refused*   a mistake in it: one line on stderr, no run file
//   *others*    a folder with files that are no traces
//   *endless*   a trace that is read until a signal comes
//   *broken*    fails after ten iterations
//   *diverged*  goes to its end, with replicas that differ from iteration 10 on
//   otherwise   FAKE_LOCKSTEP_STEPS iterations (default 150), then the end
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "engine/base/ExitCodes.h"
#include "tests/ui/shell/SampleRun.h"

namespace {

using lockstep::base::ExitCode;
using lockstep::tests::SampleRun;
using lockstep::trace::RunState;
using namespace std::chrono_literals;

volatile std::sig_atomic_t interrupted = 0;

int run(const std::string& experiment, const std::string& out) {
  if (experiment.find("refused") != std::string::npos) {
    std::fprintf(stderr, "%s:3:1: ddp.bucket_cap: unknown key; did you mean ddp.bucket_cap_mb?\n",
                 experiment.c_str());
    return static_cast<int>(ExitCode::kBadInput);
  }
  const bool broken = experiment.find("broken") != std::string::npos;
  const char* asked = std::getenv("FAKE_LOCKSTEP_STEPS");
  const int steps = asked != nullptr ? std::atoi(asked) : 150;
  signal(SIGINT, [](int) { interrupted = 1; });

  SampleRun sample(out, static_cast<std::uint32_t>(steps));
  const auto began = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(310ms);  // the stages of the start-up take so long
  sample.startUp();
  sample.log(-1, "2 ranks on this machine");
  for (int step = 0; step < steps; ++step) {
    std::this_thread::sleep_until(
        began + std::chrono::nanoseconds(sample.nextStepNs() + SampleRun::kStepNs));
    sample.log(step % 2, "step " + std::to_string(step));
    sample.step();
    if (interrupted != 0) {
      sample.finish(RunState::kStopped);
      return static_cast<int>(ExitCode::kInterrupted);
    }
    if (broken && step == 10) {
      const std::string failure = "rank 1 was killed by SIGKILL in iteration 10, in allreduce of bucket 2";
      sample.problem({0, "error", 1, 10, failure});
      sample.finish(RunState::kFailed, failure);
      std::fprintf(stderr, "%s\n", failure.c_str());
      return static_cast<int>(ExitCode::kRankKilled);
    }
  }
  if (experiment.find("diverged") != std::string::npos) {
    const std::string failure =
        "the replicas differ at step 10: fc.weight of rank 1 is not what "
        "rank 0 holds";
    sample.problem({0, "error", 1, 10, failure});
    sample.finish(RunState::kDiverged, failure);
    std::fprintf(stderr, "diverged: %s\n", failure.c_str());
    return static_cast<int>(ExitCode::kDiverged);
  }
  sample.finish(RunState::kFinished);
  return 0;
}

int import(const std::string& out, const std::string& first) {
  if (first.find("refused") != std::string::npos) {
    std::fprintf(stderr, "lockstep: %s: byte 12: this is no JSON\n", first.c_str());
    return static_cast<int>(ExitCode::kBadInput);
  }
  if (first.find("endless") != std::string::npos) {
    SampleRun half(out, 5);
    half.commit();
    std::fprintf(stderr, "read 40 %%\n");
    pause();
  }
  lockstep::tests::writeFinishedRun(out, 5);
  std::printf("%s: 5 iterations of 2 ranks, 100 events\n", out.c_str());
  if (first.find("others") != std::string::npos) {
    std::printf("left out: 2 files that hold neither traces nor dumps\n  rank 0: no clock\n");
  }
  return 0;
}

int stop(const std::string& path) {
  const auto summary = lockstep::trace::readRunSummary(path);
  if (!summary.ok()) {
    std::fprintf(stderr, "%s\n", summary.error().message().c_str());
    return static_cast<int>(ExitCode::kBadInput);
  }
  if (kill(static_cast<pid_t>(summary.value().info.supervisorPid), SIGINT) != 0) {
    std::fprintf(stderr, "%s: its supervisor is gone\n", path.c_str());
    return static_cast<int>(ExitCode::kEnvironment);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "run" && argc == 5 && std::strcmp(argv[3], "--out") == 0) {
    return run(argv[2], argv[4]);
  }
  if (command == "stop" && argc == 3) {
    return stop(argv[2]);
  }
  if (command == "import" && argc > 5 && std::strcmp(argv[2], "--out") == 0 &&
      std::strcmp(argv[4], "--") == 0) {
    return import(argv[3], argv[5]);
  }
  std::fprintf(stderr,
               "fake lockstep: run FILE --out RUN | stop RUN | import --out RUN -- TRACE...\n");
  return static_cast<int>(ExitCode::kBadInput);
}
