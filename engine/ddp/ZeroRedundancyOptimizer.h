#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/ddp/Join.h"
#include "engine/ddp/ModelState.h"
#include "engine/experiment/Experiment.h"
#include "engine/optim/ParameterOptimizer.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/trace/Tracer.h"

namespace lockstep::ddp {

/// Returns which rank owns each parameter: the largest first, each to the rank with the fewest
/// elements so far, the lowest rank among several; parameters of one size in their order. As
/// torch.distributed.optim.ZeroRedundancyOptimizer.
[[nodiscard]] std::vector<int> partitionParameters(const std::vector<std::int64_t>& elements,
                                                   int ranks);

/// Shares the optimizer's state among the ranks (ZeRO, Rajbhandari et al. 2020, stage 1): each rank
/// steps the parameters it owns, whole ones, and hands them to the others. The gradients must be
/// the same on all ranks, as after a DistributedDataParallel's backward.
///
/// Uses the optimizers of engine/optim. A parameter without a gradient on its owner stays.
/// In a Join, an owner without inputs gets the gradients of its parameters from the largest rank
/// that has some, so that its shard goes on being trained.
/// [step-thread]
class ZeroRedundancyOptimizer final : public Joinable {
 public:
  /// A collective: compares parameters and settings over the ranks. `parameters` are dense, of
  /// one dtype and device. `tracer` may be null and otherwise outlives this. Throws DdpError (also
  /// for settings that do not go together) and CommError.
  ZeroRedundancyOptimizer(std::vector<NamedTensor> parameters,
                          std::shared_ptr<process_group::ProcessGroup> group,
                          const experiment::OptimizerConfig& config,
                          trace::Tracer* tracer = nullptr);

  /// Steps and exchanges; a collective. The exchange is one kZeroBroadcast span, with the bytes of
  /// all parameters. Throws CommError, and DdpError for a gradient that does not fit.
  void step();
  void zeroGrad();
  void setLearningRate(double rate) { optimizer_->setLearningRate(rate); }
  void setStep(std::uint32_t step) { step_ = step; }

  /// The rank that owns each parameter.
  [[nodiscard]] const std::vector<int>& owners() const { return owners_; }
  /// Memory of this rank's part of the state, in bytes.
  [[nodiscard]] std::uint64_t stateBytes() const { return optimizer_->stateBytes(); }

  /// Brings the state of all parameters, in their order, to rank `to`; the other ranks return an
  /// empty list. A collective, of sends and receives: only `to` holds more than its part.
  /// Throws CommError, std::invalid_argument.
  [[nodiscard]] std::vector<optim::ParameterState> consolidateStateDict(int to = 0);

  /// Takes this rank's part of the states of all parameters; communicates nothing. Throws
  /// DdpError, naming the parameter, for states that do not fit.
  void loadStateDict(const std::vector<optim::ParameterState>& states);

  // Joinable
  void shadow(std::uint32_t step) override;
  void allJoined(bool /*lastJoiner*/) override {}
  [[nodiscard]] process_group::ProcessGroup& joinGroup() const override { return *group_; }
  [[nodiscard]] at::Device joinDevice() const override;

 private:
  void checkParameters() const;
  void passGradients(bool live);
  void stepOwn();
  void handOut();
  [[nodiscard]] process_group::CallOptions callOptions() const;
  [[nodiscard]] std::vector<optim::ParameterState> receiveFrom(int owner);
  void sendTo(int rank);

  const std::vector<NamedTensor> parameters_;
  const std::shared_ptr<process_group::ProcessGroup> group_;
  std::vector<int> owners_;
  std::vector<std::vector<std::size_t>> owned_;           // indices, by rank
  std::unique_ptr<optim::ParameterOptimizer> optimizer_;  // of owned_[rank]
  std::unique_ptr<trace::Tracer> ownTracer_;
  trace::Lane* lane_;
  std::uint32_t step_ = 0;
};

}  // namespace lockstep::ddp
