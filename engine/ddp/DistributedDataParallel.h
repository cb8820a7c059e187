#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/ddp/ModelState.h"
#include "engine/ddp/Reducer.h"
#include "engine/experiment/Experiment.h"
#include "engine/hooks/CommHook.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/trace/Tracer.h"

namespace lockstep::ddp {

struct DdpOptions {
  experiment::DdpConfig config;              ///< syncEvery is the train loop's matter
  std::shared_ptr<hooks::CommHook> hook;     ///< null: an AllreduceHook
  std::chrono::milliseconds hookTimeout{0};  ///< 0: the group's time limit and 5 s
  trace::Tracer* tracer = nullptr;           ///< may be null; else outlives this
};

/// Trains one replica of a model on every rank of a group: same start, averaged gradients
/// (torch.nn.parallel.DistributedDataParallel, one device a process).
///
///   DistributedDataParallel ddp(model, group, options);
///   for (...) {
///     ddp.setStep(step);
///     auto loss = criterion(ddp.forward<Net>(input), target);
///     optimizer.zero_grad();
///     loss.backward();          // reduces while it runs
///     ddp.checkFinalized();
///     optimizer.step();
///   }
///
/// Construction is a collective: it compares the model and the settings of all ranks, copies
/// rank 0's state to the others, and makes the buckets. So is every synchronised forward and
/// backward. [step-thread], except that the backward may run on autograd's threads.
///
/// Throws DdpError, HookError and CommError, from here or through autograd.
class DistributedDataParallel {
 public:
  DistributedDataParallel(ModelState model, std::shared_ptr<process_group::ProcessGroup> group,
                          DdpOptions options = {});
  DistributedDataParallel(std::shared_ptr<torch::nn::Module> module,
                          std::shared_ptr<process_group::ProcessGroup> group,
                          DdpOptions options = {});
  ~DistributedDataParallel();
  DistributedDataParallel(const DistributedDataParallel&) = delete;
  DistributedDataParallel& operator=(const DistributedDataParallel&) = delete;

  /// Runs `body`, which calls the model, as this rank's forward and returns what it returns.
  template <typename F>
  auto run(F&& body) -> std::invoke_result_t<F> {
    preForward();
    auto output = std::forward<F>(body)();
    postForward();
    return output;
  }

  /// Runs M::forward of the wrapped module.
  template <typename M, typename... Args>
  auto forward(Args&&... args) {
    auto* module = dynamic_cast<M*>(module_.get());
    if (module == nullptr) {
      throw std::invalid_argument("forward<M>: the wrapped module is of another type");
    }
    return run([&] { return module->forward(std::forward<Args>(args)...); });
  }

  /// The two halves of run(), for callers whose forward is no one expression.
  void preForward();
  void postForward();

  /// While it lives, forwards and their backwards accumulate gradients on this rank only; the
  /// next synchronised backward reduces the sum. The forward must be inside.
  class NoSync {
   public:
    explicit NoSync(DistributedDataParallel& ddp)
        : ddp_(ddp), outer_(std::exchange(ddp.synchronise_, false)) {}
    ~NoSync() { ddp_.synchronise_ = outer_; }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    DistributedDataParallel& ddp_;
    bool outer_;
  };

  /// See Reducer.
  void checkFinalized() { reducer_->checkFinalized(); }
  void setStep(std::uint32_t step);

  /// The parameters that are reduced, by registration index.
  [[nodiscard]] const std::vector<NamedTensor>& parameters() const { return trained_; }
  [[nodiscard]] const buckets::BucketPlan& plan() const { return reducer_->plan(); }
  [[nodiscard]] bool hasRebuiltBuckets() const { return reducer_->hasRebuiltBuckets(); }

 private:
  [[nodiscard]] ReducerOptions reducerOptions() const;
  void verify() const;
  void broadcastState();
  void broadcastBuffers();

  ModelState model_;
  std::shared_ptr<torch::nn::Module> module_;  // null when built from a ModelState
  std::shared_ptr<process_group::ProcessGroup> group_;
  DdpOptions options_;
  std::vector<NamedTensor> trained_;
  std::unique_ptr<Reducer> reducer_;
  std::uint32_t step_ = 0;
  bool synchronise_ = true;
  bool buffersMayDiffer_ = true;  // the last forward was a synchronised one
};

}  // namespace lockstep::ddp
