#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "engine/ddp/reducer/BucketSet.h"
#include "engine/ddp/reducer/GradientChecks.h"
#include "engine/ddp/reducer/GradientCopies.h"
#include "engine/ddp/reducer/ReducerContext.h"
#include "engine/ddp/reducer/UsedMap.h"

namespace lockstep::ddp {

/// The way of the buckets through the communication hook: a full one is handed to it once all
/// earlier ones were, so that the order is the same on every rank; at the end of the backward each
/// result is awaited in that order and written into the gradients. Sparse gradients bypass the
/// hook: the ranks exchange them at the end.
///
/// Throws HookError (what a hook did wrong, or that it gave no result in time) and CommError.
class BucketPipeline {
 public:
  using Lock = std::unique_lock<std::mutex>;

  BucketPipeline(ReducerContext& context, BucketSet& buckets, UsedMap& used, GradientCopies& copies,
                 GradientChecks& checks)
      : context_(context), buckets_(buckets), used_(used), copies_(copies), checks_(checks) {}

  // With the Reducer's mutex held.
  /// Forgets the last iteration.
  void reset();
  /// Launches the full buckets that come next; `lock` is not held while the hook runs. Returns
  /// false where another thread is launching already: that one will see what becomes full
  /// meanwhile. Note [Launching in order] in the .cpp.
  [[nodiscard]] bool launchReady(Lock& lock);
  /// How many buckets are not launched.
  [[nodiscard]] std::size_t left() const { return buckets_.size() - next_; }

  // Without it.
  /// Launches every bucket with zeros: this rank has no inputs.
  void launchZeros();
  /// Waits for each bucket and, but for a rank without inputs (`shadow`), writes its gradients.
  void writeResults(bool shadow);
  void exchangeSparse(bool shadow);

 private:
  void launch(std::size_t number, std::uint32_t step, const at::Tensor& wire, bool shadow);
  at::Tensor awaitResult(std::size_t number);
  void checkResult(std::size_t number, const at::Tensor& result) const;
  [[nodiscard]] std::string hookFailure(std::size_t number, const std::string& text) const;

  ReducerContext& context_;
  BucketSet& buckets_;
  UsedMap& used_;
  GradientCopies& copies_;
  GradientChecks& checks_;
  std::size_t next_ = 0;    // first that is not launched
  bool launching_ = false;  // a thread is in launchReady
};

}  // namespace lockstep::ddp
