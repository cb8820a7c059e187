#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroup.h"
#include "engine/trace/Tracer.h"

namespace torch::nn {
class Module;
}

namespace lockstep::ddp {

/// How the batch normalisations of one rank talk to the other ranks. Each exchange is one
/// collective of a few numbers a channel and one kSyncBatchNorm span. [any-thread], but all ranks
/// must normalise in the same order.
class BatchNormExchange {
 public:
  /// `tracer` may be null and otherwise outlives this.
  BatchNormExchange(std::shared_ptr<process_group::ProcessGroup> group, trace::Tracer* tracer);

  /// Returns every rank's `own` (1-D, one size on all ranks), one a row. Throws CommError.
  [[nodiscard]] at::Tensor gather(const at::Tensor& own);
  /// Returns the sum of every rank's `own`; reuses its memory. Throws CommError.
  [[nodiscard]] at::Tensor sum(at::Tensor own);

  void setStep(std::uint32_t step) { step_.store(step, std::memory_order_relaxed); }

 private:
  [[nodiscard]] process_group::CallOptions callOptions() const;
  void record(std::uint64_t startTicks, std::uint64_t bytes);

  const std::shared_ptr<process_group::ProcessGroup> group_;
  std::atomic<std::uint32_t> step_{0};
  std::mutex mutex_;  // turns on lane_
  trace::Lane* const lane_;
};

struct BatchNormSettings {
  at::Tensor runningMean;  ///< [C], updated in place; may be undefined
  at::Tensor runningVar;   ///< [C], updated in place, unbiased; may be undefined
  double momentum = 0.1;   ///< share of the new value in the running ones
  double eps = 1e-5;
};

/// Normalises `input` [N, C, ...] in training mode with the mean and variance of the batches of
/// all ranks together, as torch.nn.SyncBatchNorm: an allgather of each rank's mean, sum of squared
/// deviations and count forward, an allreduce of two sums backward. Batches may differ in size and
/// be empty. `weight` and `bias` [C] may be undefined; their gradients are this rank's part,
/// which DistributedDataParallel sums as any other. Any device and floating dtype; sums run in
/// float64 on CPU, in float32 elsewhere unless the input is float64.
///
/// A collective, forward and backward (the latter when the input needs a gradient). Throws
/// CommError, and DdpError for an input without channels, when all ranks together have fewer than
/// two values a channel, and for a backward with create_graph.
[[nodiscard]] at::Tensor syncBatchNorm(const at::Tensor& input, const at::Tensor& weight,
                                       const at::Tensor& bias, const BatchNormSettings& settings,
                                       std::shared_ptr<BatchNormExchange> exchange);

/// Makes the BatchNorm1d, 2d and 3d layers of a model synchronise, for as long as it lives.
///
/// A C++ module calls its layers through members of their own types, which no replacement in the
/// tree of modules would reach. So the layers stay as they are, parameters, buffers and state
/// dict included, and libtorch's batch_norm asks for each call whether its weight (or running
/// mean) belongs to a converted layer. Only calls in training mode synchronise.
///
/// Limits: a clone of the model is not converted; libtorch itself refuses a layer's call with
/// exactly one value a channel on this rank, though zero and two are well.
class SyncBatchNorm {
 public:
  ~SyncBatchNorm();
  SyncBatchNorm(const SyncBatchNorm&) = delete;
  SyncBatchNorm& operator=(const SyncBatchNorm&) = delete;

  /// Fully qualified names of the converted layers.
  [[nodiscard]] const std::vector<std::string>& layers() const { return layers_; }
  void setStep(std::uint32_t step) { exchange_->setStep(step); }

 private:
  friend std::unique_ptr<SyncBatchNorm> convertSyncBatchNorm(
      torch::nn::Module& module, std::shared_ptr<process_group::ProcessGroup> group,
      trace::Tracer* tracer);
  explicit SyncBatchNorm(std::shared_ptr<BatchNormExchange> exchange)
      : exchange_(std::move(exchange)) {}

  std::shared_ptr<BatchNormExchange> exchange_;
  std::vector<std::string> layers_;
  std::vector<at::Tensor> keys_;  // keeps addresses from being used again
};

/// Converts all batch normalisations of `module`; wrap it in DistributedDataParallel after. A
/// model without any gives an object without layers. Throws DdpError for a layer that another
/// SyncBatchNorm holds, that has neither weights nor running statistics to be known by, or that
/// keeps running statistics without being a torch::nn::BatchNorm (in a TorchScript model).
[[nodiscard]] std::unique_ptr<SyncBatchNorm> convertSyncBatchNorm(
    torch::nn::Module& module, std::shared_ptr<process_group::ProcessGroup> group,
    trace::Tracer* tracer = nullptr);

/// Returns whether a layer of `module` synchronises now. [any-thread]
[[nodiscard]] bool hasSyncBatchNorm(const torch::nn::Module& module);

}  // namespace lockstep::ddp
