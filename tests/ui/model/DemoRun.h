#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "engine/base/Result.h"
#include "engine/trace/RunFile.h"

namespace lockstep::ui::test {

/// A made-up run that looks like a real one: a small convolutional net, its gradients in
/// buckets that are rebuilt after the first step, allreduces that overlap the backward pass,
/// and one rank that is slower than the others. The same options give the same run.
struct DemoOptions {
  int ranks = 2;
  std::uint32_t steps = 50;
  std::uint32_t seed = 1;
  int slowRank = 1;
  double slowFactor = 1.12;  ///< of the slow rank's backward
  bool coreWaits = false;    ///< rank 0 is ready and has no core at times
  bool gapOnRank0 = false;   ///< the step thread of rank 0 loses events in step 10
  trace::RunState state = trace::RunState::kFinished;
};

/// Ticks of the made-up host: 2.5 a nanosecond.
inline constexpr double kDemoNsPerTick = 0.4;
inline constexpr std::uint64_t kDemoOriginTicks = 1'000'000'000'000;

/// Returns the whole run in one update, spans in the order of their ends as ranks record them.
trace::RunUpdate demoRun(const DemoOptions& options = {});

/// Writes the same run into a new run file.
base::Status writeDemoRun(const std::filesystem::path& path, const DemoOptions& options = {});

/// Writes a run, made by demoRun and changed by the test, into a new run file; `more` adds what
/// does not come with it.
base::Status writeRun(const std::filesystem::path& path, const trace::RunUpdate& run,
                      const std::function<void(trace::RunFileWriter&)>& more = {});

}  // namespace lockstep::ui::test
