#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/buckets/BucketPlan.h"
#include "engine/ddp/DdpTimes.h"
#include "engine/ddp/ModelState.h"
#include "engine/ddp/ReducerOptions.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/trace/Tracer.h"

namespace lockstep::ddp {

/// Averages gradients over the ranks while the backward still runs (c10d::Reducer).
///
/// A hook on each parameter's gradient accumulator copies the gradient into its bucket; a full
/// bucket is handed to the communication hook once all earlier ones were, the same order on every
/// rank; and when the last one is, a callback at the end of that backward waits for each and writes
/// the result into the gradients. After the first iteration (staticGraph: the second) the buckets
/// are rebuilt once in the order in which rank 0's gradients became ready; never with
/// findUnusedParameters alone, whose order may change. How each part works stands in reducer/, and
/// in which order the ranks call their collectives in reducer/README.md. Threads and order of one
/// backward: Note [One backward] in Reducer.cpp.
///
/// With a PrecisionSwitch the parameters are lowered in beginForward() and restored at the end of
/// the reduction, by endAccumulation(), checkFinalized(), the next forward or the end of this.
///
/// Threads: gradients may arrive on several autograd threads; all members are [step-thread] unless
/// said.
///
/// Errors: DdpError (misuse, naming parameters), HookError, CommError, thrown through autograd.
/// The first two also abort the group with their text, so that the peers end with it and not
/// with a time-out. After an error the Reducer is finished: each later forward repeats it.
class Reducer {
 public:
  /// `parameters`: those with requires_grad, dense leaves, unique. Sends the parameters and the
  /// first bucket layout to the tracer. Communicates nothing. Throws DdpError.
  Reducer(std::vector<NamedTensor> parameters, std::shared_ptr<process_group::ProcessGroup> group,
          ReducerOptions options);
  /// Takes its hooks off the model, so that another Reducer can have it.
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  /// Before each forward with gradients: checks as checkFinalized(), but allows a forward whose
  /// backward never ran; that no parameter changed its dtype or device, was frozen or thawed since
  /// construction; and rebuilds the buckets when that is due (a collective then). Throws DdpError,
  /// CommError.
  void beginForward();

  /// After a forward whose backward is to be reduced. `outputs`: the tensors it returned; with
  /// findUnusedParameters or staticGraph they are replaced by equal ones that the backward must
  /// start from. Throws DdpError when findUnusedParameters has no output to search from.
  void prepareForBackward(const std::vector<at::Tensor*>& outputs = {});

  /// After a forward whose gradients are to accumulate on this rank (no_sync).
  void accumulateLocally();
  /// After the backward of such a forward: restores the parameters' precision. Does nothing
  /// before that backward, which may still be to come.
  void endAccumulation();

  /// Call after the backward (or the several that make one), before the optimizer steps. Throws
  /// DdpError, and aborts the group with its text, when the last synchronised forward has had
  /// no backward, gradients did not come for every parameter, or a frozen one was thawed: names
  /// those parameters.
  void checkFinalized();

  /// A forward ended in an exception with this text. Aborts the group with it, since the other
  /// ranks wait for this one's gradients; the caller throws the exception on.
  void failForward(const std::string& what);

  /// What a rank without inputs does in place of one iteration of the others: first the part
  /// of beginForward(), then, after the buffer broadcast, zeros for every bucket. The gradients
  /// of this rank stay as they are. `synchronise`: as the others' iteration.
  void shadowForward();
  void shadowBackward(bool synchronise);

  /// Divides gradients by this number from now on; a hook that divides by itself finds it in
  /// BucketFacts::divisor. Default: the group's size.
  void setDivisor(int divisor);

  /// Sets the iteration that events and errors carry. [any-thread]
  void setStep(std::uint32_t step);

  /// The buckets now in use, in launch order.
  [[nodiscard]] const buckets::BucketPlan& plan() const;
  [[nodiscard]] bool hasRebuiltBuckets() const;
  /// Whether at least two iterations were reduced and the unused parameters of this rank were
  /// the same in all, so that staticGraph would do, cheaper.
  [[nodiscard]] bool canSetStaticGraph() const;

  struct State {
    DdpTimes times;
    /// Registration indices that the last search (or the recorded static graph) found unused.
    std::vector<std::uint32_t> unused;
    /// How many ranks had a gradient for each parameter, by registration index, in the last reduced
    /// iteration; with findUnusedParameters, and of the first iteration with staticGraph.
    std::vector<std::int32_t> usedBy;
    /// Gradients by index as they became ready in the last synchronised backward.
    std::vector<std::uint32_t> readyOrder;
    std::string failure;  ///< what ended this Reducer; empty: nothing
  };
  /// [any-thread]
  [[nodiscard]] State state() const;

  /// Records a span of the step on the Reducer's lane. [any-thread]
  void recordSpan(trace::EventKind kind, std::uint64_t startTicks);

 private:
  struct Core;
  const std::unique_ptr<Core> core_;
};

}  // namespace lockstep::ddp
