#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/rank/Ending.h"
#include "app/rank/Groups.h"
#include "engine/base/Clock.h"
#include "engine/base/Result.h"
#include "engine/experiment/Experiment.h"
#include "engine/plugin/HookChoice.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/store/Store.h"
#include "engine/trace/Tracer.h"
#include "engine/train/TorchrunEnvironment.h"
#include "engine/train/TrainLoop.h"

namespace lockstep::rank {

/// One rank from rendezvous to farewell. [step-thread]
class RankRun {
 public:
  /// `hooks`: those of `experiment`, empty for the engine's own.
  RankRun(train::TorchrunEnvironment environment, experiment::Experiment experiment,
          plugin::HookChoice hooks, std::unique_ptr<trace::Tracer> tracer);

  /// Sets threads and pinning, meets the other ranks, makes data and model, trains, evaluates,
  /// writes the checkpoint, and leaves together with the others. SIGTERM and SIGINT end it at
  /// once before the first step, and after a step that all ranks agree on from then on.
  /// `started` was read as the program began, `ageNs` after the process did. Throws what the
  /// engine throws.
  base::Result<train::TrainOutcome> run(base::ClockReading started, std::int64_t ageNs);

  /// Writes the last words of a rank that failed, and wakes whoever waits on the group.
  void abandon(const base::Error& error, const Culprits& culprits = {});

 private:
  void recordSpawn(base::ClockReading started, std::int64_t ageNs);
  void sendEnvironment(std::int64_t firstStep, std::int64_t plannedSteps);
  base::Status setThreads();
  base::Status meet();
  base::Status measureNetwork();
  base::Result<train::TrainOutcome> train();
  base::Status finish(const train::TrainOutcome& outcome, const train::Model& model);
  trace::ScopedSpan stage(trace::StartupStage stage);

  train::TorchrunEnvironment environment_;
  experiment::Experiment experiment_;
  const plugin::HookChoice hooks_;
  std::unique_ptr<trace::Tracer> tracer_;
  trace::Lane& lane_;
  c10::Device device_ = c10::DeviceType::CPU;
  std::vector<int> cores_;  // pinned to; empty = none
  std::shared_ptr<store::Store> store_;
  std::unique_ptr<Groups> groups_;
  std::shared_ptr<process_group::ProcessGroup> group_;  // the default one
  std::string probe_;     // what measureNetwork() found; empty: nothing
  std::string nextPeer_;  // the same, of the link to the next rank
};

}  // namespace lockstep::rank
