#pragma once

#include <torch/optim/optimizer.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/ddp/SyncBatchNorm.h"
#include "engine/ddp/ZeroRedundancyOptimizer.h"
#include "engine/device/DeviceSpans.h"
#include "engine/experiment/Experiment.h"
#include "engine/hooks/plugin/PluginHook.h"
#include "engine/optim/ParameterOptimizer.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/store/Store.h"
#include "engine/trace/Tracer.h"
#include "engine/train/BatchStream.h"
#include "engine/train/Checkpoint.h"
#include "engine/train/DdpLog.h"
#include "engine/train/Fingerprint.h"
#include "engine/train/StepAgreement.h"
#include "engine/train/Strategy.h"
#include "engine/train/data/Dataset.h"
#include "engine/train/faults/FaultInjector.h"
#include "engine/train/models/Model.h"

namespace lockstep::train {

/// Everything a rank trains with; all of it outlives the loop.
struct TrainParts {
  const experiment::Experiment& experiment;
  Model& model;
  Strategy& strategy;
  torch::optim::Optimizer& optimizer;
  Datasets datasets;
  process_group::ProcessGroup& group;
  store::Store& store;
  trace::Tracer& tracer;
  trace::Lane& lane;  ///< "step"
  const std::atomic<bool>& stopRequested;
  FaultInjector* faults = nullptr;               ///< null: nothing happens to this rank
  ddp::SyncBatchNorm* batchNorm = nullptr;       ///< told of each step
  ddp::ZeroRedundancyOptimizer* zero = nullptr;  ///< steps in place of `optimizer`
  /// Steps in the backward, in place of `optimizer`, which takes its state for checkpoints.
  optim::ParameterOptimizer* inBackward = nullptr;
  DdpLog* log = nullptr;               ///< told of each synchronised step
  Fingerprint* fingerprint = nullptr;  ///< told of each step before its forward, and of the end
  /// Called around each step, and perhaps in place of the optimizer; its state is part of
  /// checkpoints. Null: the engine's own hook.
  hooks::PluginHook* hook = nullptr;
  /// Of the device that the model computes on: tells when forward, backward and optimizer were.
  /// Null: the host's clock tells.
  device::DeviceSpans* deviceSpans = nullptr;
};

struct TrainOutcome {
  std::int64_t steps = 0;  ///< done in all, those before a resume among them
  double loss = 0;         ///< of the last step, on this rank
  bool stopped = false;    ///< on request, before the planned end
};

/// Trains until the planned number of steps or an agreed stop (StepAgreement.h). [step-thread]
///
/// One step: a batch, forward with loss, backward, and with every `ddp.sync_every`-th step (and
/// the last) the reduction and the optimizer; the steps between accumulate under NoSync, so
/// gradients are sums over them, as with PyTorch's no_sync. Random numbers inside a step
/// (dropout) come from a generator seeded by (seed, rank, step), so that a resumed run draws the
/// same. A resumed run equals an uninterrupted one bit for bit when world size, batch size and
/// sync_every are the same; with more than two ranks a sum's order may differ in the first step
/// after a resume, since buckets start from the first assignment again.
///
/// A fault may end this rank's inputs before the others'. With `ddp.join` it then answers for the
/// rest of their iterations, and stops with them; without, the others find that it does something
/// else. In a Join all ranks synchronise in the same steps: a rank whose inputs end in between
/// leaves out what it has accumulated.
class TrainLoop {
 public:
  explicit TrainLoop(TrainParts parts);

  /// Goes on from a checkpoint's position. Error (kBadInput): nothing is left to train, or the
  /// seed is another.
  base::Status resume(const Position& position);

  /// Returns the number of steps the experiment asks for, in all.
  [[nodiscard]] std::int64_t plannedSteps() const { return plannedSteps_; }

  /// Throws CommError, HookError, DdpError, StoreError and libtorch's errors. Error: a
  /// checkpoint that cannot be written (kEnvironment).
  base::Result<TrainOutcome> run();

 private:
  /// Returns the most steps that any rank has done.
  base::Result<std::int64_t> trainJoined(TrainOutcome& outcome);
  base::Status trainSteps(TrainOutcome& outcome);
  [[nodiscard]] bool synchronises() const;
  void step(bool synchronised);
  /// Throws what broke the group, if anything did.
  void refuseBrokenGroup();
  void updateParameters();
  /// Tells the recorder of the first loss that is no finite number.
  /// What the experiment does to this rank in a phase of the step.
  void suffer(std::string_view phase);
  void noteLoss(double before);
  void zeroGradients();
  void change(const experiment::SettingChange& wanted);
  void seedStep() const;
  void evaluateNow(std::int64_t stepsDone);
  base::Status checkpointNow();
  [[nodiscard]] std::uint32_t stepNumber() const { return static_cast<std::uint32_t>(step_); }

  class Phase;

  TrainParts parts_;
  trace::Lane unheard_;  // for spans that the device tells
  BatchStream batches_;
  std::vector<at::Tensor> parameters_;
  StepAgreement agreement_;
  std::int64_t plannedSteps_;
  std::int64_t ownSteps_ = 0;  // the same, or fewer where this rank's inputs end early
  std::int64_t step_ = 0;      // the one in progress, or the next
  std::int64_t lastCheckpoint_ = 0;
  std::int64_t lastEvaluation_ = -1;
  std::map<std::string, double> changed_;  // settings, while the run was live
  double loss_ = 0;
  std::optional<double> leastLoss_;  // of the finite ones
  std::uint64_t finiteLosses_ = 0;   // up to the first that was not
  bool lossIsLost_ = false;          // one was not finite, and the recorder knows
};

}  // namespace lockstep::train
