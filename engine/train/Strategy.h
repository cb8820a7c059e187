#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "engine/data_parallel/DataParallel.h"
#include "engine/ddp/DistributedDataParallel.h"
#include "engine/train/data/Dataset.h"
#include "engine/train/models/Model.h"

namespace lockstep::train {

/// How one step's forward and backward are spread over devices (processes.strategy).
/// [step-thread]
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// Sets the iteration that events carry.
  virtual void beginStep(std::uint32_t step) = 0;

  /// Runs the model's forward over `batch` and returns the mean loss. The backward of it leaves in
  /// the parameters the gradients of all devices' batches or, with `synchronise` off, adds to
  /// what a later synchronised backward will spread. A collective when it synchronises.
  virtual at::Tensor loss(const Batch& batch, bool synchronise) = 0;

  /// After the backward of loss(..., `synchronised`): the parameters are as they were before that
  /// forward. Throws for gradients of a synchronised backward that are not complete.
  virtual void afterBackward(bool synchronised) = 0;

  /// What stands in for the others' iterations when a rank runs out of inputs; null: nothing can.
  virtual ddp::Joinable* joinable() = 0;
};

/// One replica a process (DistributedDataParallel).
class DdpStrategy final : public Strategy {
 public:
  /// Both outlive this.
  DdpStrategy(Model& model, ddp::DistributedDataParallel& ddp) : model_(model), ddp_(ddp) {}

  void beginStep(std::uint32_t step) override { ddp_.setStep(step); }
  at::Tensor loss(const Batch& batch, bool synchronise) override;
  void afterBackward(bool synchronised) override {
    synchronised ? ddp_.checkFinalized() : ddp_.endAccumulation();
  }
  ddp::Joinable* joinable() override { return &ddp_; }

 private:
  Model& model_;
  ddp::DistributedDataParallel& ddp_;
};

/// One process with a replica on each device (DataParallel). The outputs are gathered and the loss
/// is taken of them on the first device, as users of torch.nn.DataParallel do.
class DataParallelStrategy final : public Strategy {
 public:
  /// Both outlive this; `parallel` wraps `model`.
  DataParallelStrategy(Model& model, data_parallel::DataParallel& parallel)
      : model_(model), parallel_(parallel) {}

  void beginStep(std::uint32_t step) override { parallel_.setStep(step); }
  at::Tensor loss(const Batch& batch, bool synchronise) override;
  void afterBackward(bool /*synchronised*/) override {}
  ddp::Joinable* joinable() override { return nullptr; }

 private:
  Model& model_;
  data_parallel::DataParallel& parallel_;
};

}  // namespace lockstep::train
