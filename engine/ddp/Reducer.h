#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/buckets/Assign.h"
#include "engine/ddp/Bucket.h"
#include "engine/ddp/ModelState.h"
#include "engine/hooks/CommHook.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/trace/Tracer.h"

namespace torch::autograd {
struct Node;
}

namespace lockstep::ddp {

struct ReducerOptions {
  buckets::BucketRule rule = buckets::BucketRule::kC10d113;
  buckets::BucketCaps caps;
  bool gradientAsBucketView = false;
  std::shared_ptr<hooks::CommHook> hook;     ///< null: an AllreduceHook
  std::chrono::milliseconds hookTimeout{0};  ///< 0: the group's time limit and 5 s
  trace::Tracer* tracer = nullptr;           ///< may be null; else outlives the Reducer
};

/// Averages gradients over the ranks while the backward still runs (c10d::Reducer).
///
/// A hook on each parameter's gradient accumulator copies the gradient into its bucket,
/// divided by the world size on the way if the communication hook takes shares; otherwise the
/// hook owns the division. A full bucket is launched once all earlier ones are: the same order on
/// every rank. When the last one is launched, a callback at the end of that backward waits for each
/// and writes the result into the gradients. After the first iteration the buckets are rebuilt once
/// in the order in which rank 0's gradients became ready.
///
/// Threads: gradients may arrive on several autograd threads. One mutex guards the state; it is
/// not held while a communication hook runs, nor while the end of a backward waits. All other
/// members are [step-thread] unless said.
///
/// Errors: DdpError (misuse, naming parameters), HookError, CommError, thrown through autograd.
/// After one the Reducer is finished: each later forward repeats what failed.
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

  /// Before each forward with gradients: checkFinalized(), checks that no parameter changed its
  /// dtype or device since construction, and rebuilds the buckets when that is due (a
  /// collective then). Throws DdpError, CommError.
  void beginForward();

  /// After a forward whose backward is to be reduced.
  void prepareForBackward();

  /// After a forward whose gradients are to accumulate on this rank (no_sync).
  void accumulateLocally();

  /// Throws DdpError when gradients came in the last backward but not for every parameter, so
  /// that some or all gradients are not reduced: names those parameters. Call it after a
  /// backward to learn it before the optimizer steps; the next forward would tell too.
  void checkFinalized();

  /// Sets the iteration that events and errors carry. [any-thread]
  void setStep(std::uint32_t step);

  /// The buckets now in use, in launch order.
  [[nodiscard]] const buckets::BucketPlan& plan() const { return plan_; }
  [[nodiscard]] bool hasRebuiltBuckets() const { return rebuilt_; }

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
    std::shared_ptr<torch::autograd::Node> accumulator;
    std::uintptr_t key = 0;
  };

  void checkParameters() const;
  void checkUnchanged() const;
  void watchParameters();
  void useBuckets(buckets::BucketPlan plan);
  void rebuildIfDue();
  void sendParameters();
  void sendLayout(std::uint32_t layout, const std::string& reason);

  // The backward; `lock` holds mutex_.
  void onGradient(std::size_t index);
  void warnUnexpected(std::size_t index);
  void copyIn(std::size_t index, const Place& place);
  void launchReadyBuckets(std::unique_lock<std::mutex>& lock);
  void launch(std::size_t index, std::uint32_t step);
  void finalize();
  at::Tensor awaitResult(std::size_t index);
  void checkHookResult(std::size_t index, const at::Tensor& result) const;
  void copyOut(Bucket& bucket, const at::Tensor& result);
  void fail(const char* text);
  [[nodiscard]] std::string hookPlace(std::size_t index) const;

  const std::vector<NamedTensor> parameters_;
  const std::vector<buckets::TensorSpec> specs_;
  const std::shared_ptr<process_group::ProcessGroup> group_;
  const ReducerOptions options_;
  const at::Tensor inverse_;  // 1 / world size, as a number that changes no dtype
  std::unique_ptr<trace::Tracer> ownTracer_;
  trace::Tracer& tracer_;
  const std::shared_ptr<hooks::CommHook> hook_;
  std::vector<Watched> watched_;

  // Guarded by mutex_, except that the contents of buckets_[i] belong to the one thread that
  // launches bucket i (launching_) or that finalises.
  std::mutex mutex_;
  trace::Lane& lane_;
  Mode mode_ = Mode::kIdle;
  std::uint32_t step_ = 0;
  buckets::BucketPlan plan_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
  std::vector<Place> places_;   // of each parameter
  std::vector<char> ready_;     // of each parameter, in this iteration
  std::size_t nextBucket_ = 0;  // first that is not launched
  bool launching_ = false;      // a thread is in launchReadyBuckets
  bool unfinished_ = false;     // a gradient came, and the reduction has not ended
  bool rebuilt_ = false;
  bool warnedUnexpected_ = false;
  std::vector<std::uint32_t> readyOrder_;  // of the first iteration
  std::string failure_;
};

}  // namespace lockstep::ddp
