#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "app/rank/Groups.h"
#include "engine/base/Result.h"
#include "engine/experiment/Experiment.h"
#include "engine/hooks/plugin/PluginHook.h"
#include "engine/plugin/HookChoice.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/store/Store.h"
#include "engine/trace/Tracer.h"
#include "engine/train/TrainLoop.h"

namespace lockstep::rank {

/// One rank's model and all that trains it, as the experiment says. [step-thread]
class Replica {
 public:
  /// Makes nothing yet. All arguments outlive this. `hookStuck`: PluginHookOptions::stuck.
  Replica(const experiment::Experiment& experiment, const plugin::HookChoice& hooks, Groups& groups,
          std::shared_ptr<process_group::ProcessGroup> group, trace::Tracer& tracer,
          trace::Lane& lane, train::FaultInjector& faults,
          std::function<void(const std::string&)> hookStuck);

  /// Makes model and optimizer on `device` for data of this shape, and loads the checkpoint to
  /// resume from.
  base::Status makeModel(const train::DataShape& shape, c10::Device device);

  /// Wraps the model as processes.strategy says: with "ddp" a collective, which compares the
  /// ranks' models. Throws DdpError, CommError, DataParallelError.
  base::Status distribute();

  /// Where training goes on; all zero without a checkpoint.
  [[nodiscard]] const train::Position& position() const { return position_; }
  [[nodiscard]] const train::Model& model() const { return *model_; }

  /// Everything that the step loop needs; what is given here outlives the loop, too.
  [[nodiscard]] train::TrainParts parts(train::Datasets datasets, store::Store& store,
                                        const std::atomic<bool>& stopRequested);

 private:
  base::Status distributeOverRanks();
  base::Result<std::shared_ptr<hooks::CommHook>> makeHook();
  /// Tells the recorder what this run's replicas need not have in common.
  void sendWhatMayDiffer(const hooks::CommHook& hook);
  [[nodiscard]] std::unique_ptr<device::DeviceSpans> makeDeviceSpans() const;
  base::Status preparePlugin();
  base::Status loadPluginState();
  base::Status distributeOverDevices();
  base::Status synchroniseBatchNorm();
  [[nodiscard]] std::vector<ddp::NamedTensor> trainedParameters() const;

  const experiment::Experiment& experiment_;
  const plugin::HookChoice& hooks_;
  Groups& groups_;
  const std::shared_ptr<process_group::ProcessGroup> group_;
  trace::Tracer& tracer_;
  trace::Lane& lane_;
  train::FaultInjector& faults_;
  const std::function<void(const std::string&)> hookStuck_;
  train::DataShape shape_;
  train::Position position_;
  std::shared_ptr<train::Model> model_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::shared_ptr<optim::ParameterOptimizer> inBackward_;
  std::unique_ptr<ddp::SyncBatchNorm> batchNorm_;
  std::shared_ptr<hooks::PluginHook> plugin_;  // null: the engine's own hook
  std::unique_ptr<ddp::DistributedDataParallel> ddp_;
  std::unique_ptr<ddp::ZeroRedundancyOptimizer> zero_;
  std::unique_ptr<train::DdpLog> log_;
  std::unique_ptr<device::DeviceSpans> deviceSpans_;  // null: the host's times
  std::unique_ptr<train::Fingerprint> fingerprint_;  // null: there is no other replica
  std::unique_ptr<data_parallel::DataParallel> parallel_;
  std::unique_ptr<train::Strategy> strategy_;
};

}  // namespace lockstep::rank
