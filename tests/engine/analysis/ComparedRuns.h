#pragma once

#include <deque>
#include <optional>
#include <string>

#include "engine/analysis/Compare.h"
#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::analysis {

/// Runs that live as long as what refers to them.
class Runs {
 public:
  /// Adds a run of an experiment of its own, or of one with `seed`.
  RunToCompare& add(const HandMadeRun& run, std::optional<std::size_t> seed = std::nullopt) {
    held_.push_back({run.data(), analyse(run.data())});
    const std::string toml = "[train]\nseed = " + std::to_string(seed.value_or(all.size())) + "\n";
    all.push_back({"run", settingsOf(toml), &held_.back().data, &held_.back().analysis, {}});
    return all.back();
  }

  std::vector<RunToCompare> all;

 private:
  struct Held {
    RunData data;
    RunAnalysis analysis;
  };
  std::deque<Held> held_;
};

/// Warm-up step 0, then `count` steps of one rank, each longer than the one before by a tick.
inline HandMadeRun stepsOf(std::uint64_t firstTicks, std::uint32_t count) {
  HandMadeRun run(1);
  run.add(0, trace::EventKind::kStep, 0, 500'000, 0);
  std::uint64_t at = 1'000'000;
  for (std::uint32_t step = 1; step <= count; ++step) {
    run.add(0, trace::EventKind::kStep, at, at + firstTicks + step, step);
    at += 100'000;
  }
  return run;
}

/// Steps of 10 ms of two ranks that compute 4 ms. Rank 0 comes to the collective at 4 ms, rank 1
/// `lateTicks` after; it takes `transferTicks` from then.
inline HandMadeRun exchange(std::uint64_t lateTicks, std::uint64_t transferTicks) {
  HandMadeRun run(2);
  for (std::uint32_t step = 0; step < 2; ++step) {
    const std::uint64_t at = 20'000 * step;
    for (int rank = 0; rank < 2; ++rank) {
      const std::uint64_t arrival = at + 4'000 + (rank == 1 ? lateTicks : 0);
      run.add(rank, trace::EventKind::kStep, at, at + 10'000, step);
      run.add(rank, trace::EventKind::kBackward, at, at + 4'000, step);
      run.addCollective(rank, arrival, at + 4'000 + lateTicks + transferTicks, step + 1, step);
    }
  }
  return run;
}

/// A job of PyTorch that tells of DDP's settings.
inline Settings jobOf(const std::string& command, const std::string& capBytes) {
  trace::RunInfo info;
  info.kind = trace::RunKind::kObserved;
  info.command = command;
  info.worldSize = 2;
  trace::RankInfo rank;
  rank.environment = {{"backend", "gloo"},
                      {"torch", "2.15.0"},
                      {"ddp.bucket_cap_bytes", capBytes},
                      {"ddp.static_graph", "false"},
                      {"ddp.find_unused_parameters", "true"}};
  return settingsOf(info, {rank});
}

}  // namespace lockstep::analysis
