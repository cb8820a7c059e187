#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"
#include "engine/ddp/ModelState.h"
#include "engine/experiment/Experiment.h"
#include "engine/hooks/CommHook.h"
#include "engine/trace/Tracer.h"

namespace lockstep::train {

/// Does to this rank what [[faults]] of the experiment asks for, each time with a kFault event on
/// the lane "faults".
///
/// Delays sleep: the rank computes nothing meanwhile, as one that was descheduled. Their jitter is
/// drawn from train.seed, the fault's place in the file and the step, so a run can be repeated.
/// [step-thread] unless said; what happens inside a backward runs on autograd's thread.
class FaultInjector {
 public:
  /// Takes the faults of rank `rank`; those of other ranks are none of its business.
  FaultInjector(const experiment::Experiment& experiment, int rank, trace::Tracer& tracer);
  ~FaultInjector();
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

  /// Returns `hook`, or one around it that holds up the buckets a fault names.
  [[nodiscard]] std::shared_ptr<hooks::CommHook> around(std::shared_ptr<hooks::CommHook> hook);

  /// Finds the layers and parameters that faults name; `parameters` in registration order, whose
  /// indices events carry. Error (kBadInput): there is no such one, or no such element or bit.
  base::Status watch(const std::vector<ddp::NamedTensor>& parameters);

  /// As step `step` begins: kills or stops this process, flips bits.
  void beginStep(std::uint32_t step);

  /// In a phase of it, "data", "forward" or "optimizer": delays without a layer or bucket.
  void inPhase(std::string_view phase);

  /// The samples by which this rank's inputs end early.
  [[nodiscard]] std::int64_t samplesLeftOut() const;

  /// Notes that its inputs have ended.
  void inputsEnded(std::uint32_t step);

 private:
  class State;
  const std::shared_ptr<State> state_;  // shared with hooks on tensors and buckets
};

}  // namespace lockstep::train
