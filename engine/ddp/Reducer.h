#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/buckets/Assign.h"
#include "engine/ddp/Bucket.h"
#include "engine/ddp/DdpTimes.h"
#include "engine/ddp/GradientTally.h"
#include "engine/ddp/MixedPrecision.h"
#include "engine/ddp/ModelState.h"
#include "engine/ddp/TorchCompat.h"
#include "engine/ddp/UnusedSearch.h"
#include "engine/hooks/CommHook.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/nccl/DeviceSpans.h"
#include "engine/trace/Tracer.h"

namespace lockstep::ddp {

struct ReducerOptions {
  /// Of the first iteration, where neither `caps.list` nor findUnusedParameters says otherwise.
  buckets::BucketRule rule = buckets::BucketRule::kC10d113;
  buckets::BucketCaps caps;
  bool gradientAsBucketView = false;
  /// Copies the gradients of a bucket when the last of them has come, in one call, and divides the
  /// bucket then; and back likewise.
  bool batchedGradCopy = false;
  bool findUnusedParameters = false;
  bool staticGraph = false;
  /// With findUnusedParameters: a bucket without a gradient on any rank is not communicated.
  bool skipUnusedBuckets = false;
  std::vector<std::string> sparseGradients;  ///< parameters whose gradients are sparse
  /// Parameters of the model that are not to be reduced, and must therefore stay as they are.
  std::vector<NamedTensor> frozen;
  /// As many of the last parameters have no place in the buckets: one allreduce averages them,
  /// started by the gradient of parameter `deferredTrigger`, which may be one of them.
  std::size_t deferred = 0;
  std::size_t deferredTrigger = 0;
  /// Null: parameters and buckets keep their dtypes. Not together with gradientAsBucketView.
  std::shared_ptr<PrecisionSwitch> precision;
  std::shared_ptr<hooks::CommHook> hook;     ///< null: an AllreduceHook
  std::chrono::milliseconds hookTimeout{0};  ///< 0: the group's time limit and 5 s
  trace::Tracer* tracer = nullptr;           ///< may be null; else outlives the Reducer
  /// Of the device that the gradients lie on: tells when it copied, waited and finalised. Copies of
  /// single gradients are then part of the backward. Null: the host's clock tells.
  std::shared_ptr<process_group::nccl::DeviceSpans> deviceSpans;
  /// In each so manieth step, counted from 0, or the next one that reduces, this rank's gradients
  /// are measured as they go into their buckets, and a GradientsMessage tells the recorder, if there is one. 0: never.
  std::int64_t gradientCheckEvery = 0;
};

// Note [The order of collectives]
// All ranks of a group call it in one order. In a synchronised iteration, in this order: the
// agreement on rebuilt buckets (once, in beginForward); with skipUnusedBuckets the buckets in use
// (in prepareForBackward); the hook of each bucket by index, and somewhere among them, as soon as
// their trigger has its gradient, the deferred parameters (after all buckets where unused
// parameters are searched or staticGraph counts); the map of used parameters
// (findUnusedParameters in each iteration, staticGraph in the first); the exchange of sparse
// gradients by bucket, after all dense results are there. A rank without inputs takes part in
// all of these by shadowForward() and shadowBackward(); but it cannot know when the others'
// trigger comes, so that there are no deferred parameters in a Join.

/// Averages gradients over the ranks while the backward still runs (c10d::Reducer).
///
/// A hook on each parameter's gradient accumulator copies the gradient into its bucket, divided
/// on the way if the communication hook takes shares; otherwise the hook owns the division. A
/// full bucket is launched once all earlier ones are: the same order on every rank. When the
/// last one is launched, a callback at the end of that backward waits for each and writes the
/// result into the gradients. After the first iteration (staticGraph: the second) the buckets
/// are rebuilt once in the order in which rank 0's gradients became ready; never with
/// findUnusedParameters alone, whose order may change.
///
/// findUnusedParameters: the graph behind the forward's outputs is searched; parameters it does
/// not reach count as ready at the first gradient of the backward. A parameter that no rank
/// used keeps its gradient as it is; one that some rank used gets the average on all.
///
/// staticGraph: the first backward counts how often each parameter gets a gradient and reduces
/// when it has ended; from then on a parameter is ready after as many. Re-entrant backwards
/// (checkpointing) and repeated use need it. The first reduction takes one backward.
///
/// Sparse gradients have buckets of their own, are exchanged by allgather, averaged, and bypass
/// the communication hook. So do deferred parameters, which are no part of plan().
///
/// With a PrecisionSwitch the parameters are lowered in beginForward() and restored at the end of
/// the reduction, by endAccumulation(), checkFinalized(), the next forward or the end of this.
///
/// Threads: gradients may arrive on several autograd threads. One mutex guards the state; it is
/// not held while a communication hook runs, nor while the end of a backward waits. All other
/// members are [step-thread] unless said.
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

  /// Of a forward that ended in an exception with this text, which is about to leave it: the other
  /// ranks, which wait for this one's gradients, are to hear of it.
  void failForward(const std::string& what);

  /// What a rank without inputs does in place of one iteration of the others: first the part
  /// of beginForward(), then, after the buffer broadcast, zeros for every bucket. The gradients
  /// of this rank stay as they are. `synchronise`: as the others' iteration.
  void shadowForward();
  void shadowBackward(bool synchronise);

  /// Divides gradients by this number from now on; a hook that takes no shares is told of it
  /// (BucketFacts::divisor). Default: the group's size.
  void setDivisor(int divisor);

  /// Sets the iteration that events and errors carry. [any-thread]
  void setStep(std::uint32_t step);

  /// The buckets now in use, in launch order.
  [[nodiscard]] const buckets::BucketPlan& plan() const { return plan_; }
  [[nodiscard]] bool hasRebuiltBuckets() const { return rebuilt_; }
  /// Whether at least two iterations were reduced and the unused parameters of this rank were
  /// the same in all, so that staticGraph would do, cheaper.
  [[nodiscard]] bool canSetStaticGraph() const { return reductions_ > 1 && unusedStayed_; }

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
  enum class Mode {
    kIdle,         // gradients that come now belong to no forward of ours
    kAccumulate,   // no_sync
    kSynchronise,  // between prepareForBackward and the end of the reduction
  };
  struct Place {
    std::uint32_t bucket = 0;
    std::uint32_t slot = 0;
  };
  struct Watched {
    compat::NodePtr accumulator;
    std::uintptr_t key = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  // Construction and rebuild (Reducer.cpp).
  void checkParameters() const;
  void watchParameters();
  [[nodiscard]] std::vector<buckets::TensorSpec> plannedSpecs() const;
  [[nodiscard]] std::unique_ptr<Bucket> makeBucket(const buckets::BucketPlan::Bucket& planned);
  void useBuckets(buckets::BucketPlan plan);
  void rebuildIfDue();
  void sendParameters();
  void sendLayout(std::uint32_t layout, const std::string& reason);

  /// Of the gradients.
  [[nodiscard]] at::Device device() const { return parameters_.front().tensor.device(); }

  // Around a forward (ReducerForward.cpp).
  [[nodiscard]] bool searchesUnused() const {
    return options_.findUnusedParameters && !options_.staticGraph;
  }
  [[nodiscard]] bool recordsOrder() const;
  void fail(std::string text);
  void checkUnchanged();
  void checkFrozen();
  void restorePrecision();
  void checkReduced(bool backwardRequired);
  [[nodiscard]] std::string missingText() const;
  void resetIteration();
  void searchUnused(const std::vector<at::Tensor*>& outputs, Lock& lock);
  void announceBuckets(bool takesPart);

  // The backward (ReducerBackward.cpp); `lock` holds mutex_.
  void onGradient(std::size_t index, bool gradient);
  void receive(std::size_t index, Lock& lock);
  void warnUnexpected(std::size_t index);
  void warnHigherOrder();
  void warn(const std::string& text);
  void take(std::size_t index);
  void takeUnused();
  void copyIn(std::size_t index, Bucket& bucket, const Place& place, bool shares);
  void copyInAll(std::size_t bucket);

  /// Where a thread and the device that it queues work on have come to.
  struct Moment {
    std::uint64_t ticks = 0;
    process_group::nccl::DeviceSpans::Point point;
  };
  [[nodiscard]] Moment now() const;
  void recordBetween(trace::EventKind kind, const Moment& begin, const Moment& end,
                     std::uint16_t bucket = trace::kNoBucket, std::uint64_t value = 0,
                     std::uint16_t detail = 0);
  void recordInstant(trace::EventKind kind, std::uint32_t step, std::uint16_t bucket,
                     std::uint64_t value);
  void checkDense(std::size_t index, const at::Tensor& slice) const;
  void checkSparse(std::size_t index) const;
  [[nodiscard]] bool checksGradients();
  void tally(std::size_t index, const Bucket& bucket, const Place& place, bool shares);
  void sendTallies();
  void queueRecordedReduction();
  void reduceRecorded();
  void recordFailure(Lock& lock, const std::exception& error);
  [[noreturn]] void failAndThrow(Lock& lock);

  // Full buckets (ReducerLaunch.cpp); `lock` holds mutex_.
  bool launchReadyBuckets(Lock& lock);  // returns whether the last one is launched
  void launch(std::size_t index, std::uint32_t step, const at::Tensor& wire, bool shadow);
  void launchUsedMap(std::uint32_t step);
  [[nodiscard]] bool communicates(std::size_t bucket);
  [[nodiscard]] std::string hookFailure(std::size_t index, const std::string& text) const;

  // Deferred parameters (ReducerDeferred.cpp); mutex_ is held where not said otherwise.
  [[nodiscard]] bool isDeferred(std::size_t index) const { return index >= planned_; }
  void makeDeferred();
  void takeDeferred(std::size_t index);
  bool launchDeferred();  // returns whether they are launched, or there are none
  void awaitDeferred();   // without mutex_

  // The end of the backward (ReducerFinalize.cpp).
  void finalize(bool shadow);
  void finish(bool shadow, const Moment& start, std::int64_t backwardEnd);
  void warnAllUsed();
  at::Tensor awaitResult(std::size_t index);
  void checkHookResult(std::size_t index, const at::Tensor& result) const;
  void copyOut(Bucket& bucket, const at::Tensor& result);
  void reduceSparse(std::size_t index, bool shadow);
  [[nodiscard]] bool keepsGradient(std::size_t index);
  void awaitUsedMap();

  const std::vector<NamedTensor> parameters_;
  const ReducerOptions options_;
  const std::vector<buckets::TensorSpec> specs_;
  const std::size_t planned_;  // parameters in buckets; the rest are deferred
  std::vector<std::pair<at::ScalarType, at::Device>> built_;  // each parameter at construction
  const std::shared_ptr<process_group::ProcessGroup> group_;
  std::unique_ptr<trace::Tracer> ownTracer_;
  trace::Tracer& tracer_;
  const std::shared_ptr<hooks::CommHook> hook_;
  std::vector<Watched> watched_;
  Accumulators accumulators_;
  const std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);  // for graphs kept

  // Guarded by mutex_, except that the contents of buckets_[i] belong to the one thread that
  // launches bucket i (launching_) or that finalises.
  mutable std::mutex mutex_;
  trace::Lane& lane_;
  Mode mode_ = Mode::kIdle;
  std::uint32_t step_ = 0;
  int divisor_;
  at::Tensor inverse_;  // 1 / divisor_, as a number that changes no dtype
  buckets::BucketPlan plan_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::size_t hookedBuckets_ = 0;  // those up to the last dense one
  std::vector<Place> places_;      // of each parameter; of the deferred, in deferred_
  std::vector<std::unique_ptr<Bucket>> deferred_;  // one for each dtype and device
  std::vector<std::shared_ptr<process_group::Work>> deferredWorks_;  // launched
  std::vector<std::uint32_t> awaited_;  // gradients still to come to each parameter
  std::vector<std::uint32_t> firings_;  // static graph: gradients a backward, as recorded
  std::vector<std::uint32_t> unused_;
  std::vector<std::int32_t> usedBy_;
  std::vector<std::uint32_t> readyOrder_;
  std::vector<std::uint32_t> recordedOrder_;  // of the iteration that decides the rebuild
  at::Tensor used_;                           // int32, 1 = got a gradient since the last reduction
  at::Tensor usedAnywhere_;                   // the sum of it over the ranks, once awaited
  std::shared_ptr<process_group::Work> usedWork_;
  at::Tensor bucketsInUse_;  // int32: ranks that have gradients for each bucket
  std::shared_ptr<process_group::Work> bucketsWork_;
  std::uint64_t reductions_ = 0;
  std::uint64_t searchedInVain_ = 0;  // of them, in which every rank used every parameter
  std::size_t nextBucket_ = 0;  // first that is not launched
  bool triggered_ = false;      // the deferred parameters' trigger has its gradient
  bool launchedAll_ = false;
  bool recording_ = false;  // static graph: this backward counts, its end reduces
  bool recordingQueued_ = false;
  bool graphRecorded_ = false;  // firings_ are known
  bool tookUnused_ = false;
  bool unusedStayed_ = true;
  bool launching_ = false;   // a thread is in launchReadyBuckets
  bool unfinished_ = false;  // a gradient came, and the reduction has not ended
  bool rebuilt_ = false;
  bool warnedUnexpected_ = false;
  bool warnedHigherOrder_ = false;
  bool accumulated_ = false;  // a gradient came since a forward under no_sync
  std::optional<std::int64_t> reducedPeriod_;  // of gradientCheckEvery, at the last reduction
  std::vector<GradientTally> tallies_;  // by bucket, then the deferred; none: not in this step
  DdpTimes times_;
  std::string failure_;
};

}  // namespace lockstep::ddp
