#include "engine/ddp/Reducer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/Check.h"
#include "engine/base/Clock.h"
#include "engine/ddp/DdpError.h"
#include "engine/ddp/PlanAgreement.h"
#include "engine/ddp/TorchCompat.h"
#include "engine/ddp/reducer/BucketPipeline.h"
#include "engine/ddp/reducer/BucketSet.h"
#include "engine/ddp/reducer/DeferredParameters.h"
#include "engine/ddp/reducer/FirstFailure.h"
#include "engine/ddp/reducer/GradientChecks.h"
#include "engine/ddp/reducer/GradientCopies.h"
#include "engine/ddp/reducer/ReadyGradients.h"
#include "engine/ddp/reducer/ReducerContext.h"
#include "engine/ddp/reducer/UsedMap.h"
#include "engine/hooks/HookTrace.h"
#include "engine/trace/Event.h"
#include "engine/trace/Messages.h"

namespace lockstep::ddp {

struct Reducer::Parts : ReducerContext {
  using ReducerContext::ReducerContext;

  FirstFailure failure{*this};
  BucketSet buckets{*this};
  UsedMap used{*this};
  GradientChecks checks{*this};
  GradientCopies copies{*this, used, checks};
  ReadyGradients ready{*this};
  BucketPipeline pipeline{*this, buckets, used, copies, checks};
  DeferredParameters deferred{*this, copies};

  [[nodiscard]] std::vector<buckets::TensorSpec> plannedSpecs() const {
    const auto& specs = parameters.specs();
    return {specs.begin(), specs.begin() + static_cast<std::ptrdiff_t>(planned)};
  }
  void useBuckets(buckets::BucketPlan plan) {
    buckets.use(std::move(plan), options.gradientAsBucketView);
  }
  void sendLayout(std::uint32_t layout, const std::string& reason) {
    lane.tracer().send(trace::toJson(buckets.message(layout, reason)));
  }
};

Reducer::Reducer(std::vector<NamedTensor> parameters,
                 std::shared_ptr<process_group::ProcessGroup> group, ReducerOptions options)
    : parts_(std::make_unique<Parts>(std::move(parameters), std::move(group), std::move(options))) {
  Parts& parts = *parts_;
  // As c10d: where unused parameters are searched there is no rebuild to put the caps right.
  const auto rule =
      parts.options.searchesUnused() ? buckets::BucketRule::kC10d19 : parts.options.rule;
  parts.useBuckets(buckets::planConstruction(parts.plannedSpecs(), rule, parts.options.caps));
  parts.lane.tracer().send(trace::toJson(parts.parameters.message()));
  parts.sendLayout(0, "construction");
  // In shared memory, for the report about a rank that dies; a longer name is cut.
  auto& hook = parts.lane.tracer().lastWords().hook;
  hook[parts.hook->name().copy(hook.data(), hook.size() - 1)] = '\0';
  watchParameters();
}

Reducer::~Reducer() {
  // After a failure the count of searches says nothing: iterations are missing from it.
  if (parts_->failure.text().empty()) {
    parts_->used.warnIfInVain();
  }
  restorePrecision();
  parts_->parameters.unwatch();
}

void Reducer::watchParameters() {
  parts_->parameters.watch(
      [this](std::size_t index, bool gradient) { onGradient(index, gradient); });
}

// --- Around a forward ---

void Reducer::beginForward() {
  {
    std::lock_guard lock(parts_->mutex);
    parts_->times.forwardStart = DdpTimes::now();
    parts_->lane.writeDevice();  // of the last iteration
  }
  // The order matters. Full precision comes back before change() looks at the dtypes, which it
  // would find changed otherwise; buckets are planned for the parameters' own dtypes; and only then
  // the parameters are lowered for the coming forward.
  checkReduced(false);
  restorePrecision();
  failWith(parts_->parameters.change());
  rebuildIfDue();
  if (parts_->options.precision != nullptr) {
    parts_->options.precision->lower();
    watchParameters();  // a parameter of another dtype has another accumulator
  }
}

void Reducer::restorePrecision() {
  if (parts_->options.precision != nullptr) {
    parts_->options.precision->restore();
  }
}

void Reducer::rebuildIfDue() {
  Parts& parts = *parts_;
  std::uint32_t step = 0;
  buckets::BucketPlan own;
  {
    std::lock_guard lock(parts.mutex);
    // c10d, too, rebuilds once, and before a forward, when no activations are held: old and new
    // buckets are both in memory for a moment where gradients are views of the old ones. With
    // staticGraph the first backward is only recorded and its gradients are taken all at once, so
    // that the second tells the order.
    if (parts.rebuilt || parts.planned == 0 || parts.options.searchesUnused() ||
        parts.reductions < (parts.options.staticGraph ? 2 : 1)) {
      return;
    }
    step = parts.lane.step();
    own =
        buckets::planRebuild(parts.plannedSpecs(), parts.ready.rebuildOrder(), parts.options.caps);
  }
  const std::uint64_t startTicks = base::ticks();
  // Without the mutex: this waits for the other ranks, and state() may be asked meanwhile.
  buckets::BucketPlan agreed = agreeOnPlan(*parts.group, parts.plannedSpecs(), own, step);
  {
    std::lock_guard lock(parts.mutex);
    parts.useBuckets(std::move(agreed));
    parts.rebuilt = true;
    parts.lane.hostSpan(trace::EventKind::kRebuildBuckets, startTicks);
  }
  parts.sendLayout(1, "rebuild");
}

void Reducer::resetIteration() {
  parts_->ready.reset();
  parts_->pipeline.reset();
  parts_->deferred.reset();
  launchedAll_ = false;
  recordingQueued_ = false;
}

void Reducer::prepareForBackward(const std::vector<at::Tensor*>& outputs) {
  Parts& parts = *parts_;
  Lock lock(parts.mutex);
  resetIteration();
  parts.checks.begin(parts.buckets.size());
  parts.ready.expect();
  const bool searches = parts.options.searchesUnused();
  if (searches) {
    try {
      parts.ready.searchUnused(outputs);
    } catch (const DdpError& error) {
      parts.failure.fail(lock, error.what());
    }
    parts.used.announce(parts.buckets, parts.ready.unused(), true);
  }
  // With a search, outputs that the loss leaves out must still give their parameters a gradient, if
  // an undefined one: else the reduction waits for them (c10d's DDPSink). While recording, the node
  // is the one place that surely runs in the outermost backward. A callback that a re-entrant
  // backward queues runs at the end of that inner one, which is too early.
  if (searches || parts.ready.recording()) {
    compat::passThroughOneNode(outputs, [this, weak = std::weak_ptr(alive_)] {
      if (weak.expired()) {
        return;  // the graph outlived this Reducer
      }
      Lock inBackward(parts_->mutex);
      if (mode_ == Mode::kSynchronise && parts_->ready.recording()) {
        queueRecordedReduction();
      }
    });
  }
  mode_ = Mode::kSynchronise;
  parts.times.backwardStart = DdpTimes::now();
}

void Reducer::accumulateLocally() {
  std::lock_guard lock(parts_->mutex);
  mode_ = Mode::kAccumulate;
  accumulated_ = false;
}

void Reducer::endAccumulation() {
  {
    std::lock_guard lock(parts_->mutex);
    if (!std::exchange(accumulated_, false)) {
      return;
    }
  }
  restorePrecision();
}

void Reducer::shadowForward() {
  checkReduced(false);
  rebuildIfDue();
}

void Reducer::shadowBackward(bool synchronise) {
  if (!synchronise) {
    return;
  }
  at::NoGradGuard noGrad;
  {
    std::lock_guard lock(parts_->mutex);
    resetIteration();
    // Gradients that this rank may still hold are not averaged in: it has used nothing.
    parts_->used.clear();
    parts_->used.announce(parts_->buckets, parts_->ready.unused(), false);
  }
  parts_->pipeline.launchZeros();
  parts_->used.launch();
  finalize(true);
}

// Note [One backward]
//
// A model of four parameters in two buckets. The backward reaches the last layer first:
//
//   thread of autograd                             backend             after the backward
//   gradient 3: copied into bucket 0
//   gradient 2: copied; bucket 0 full, launch ───▶ allreduce 0
//   gradient 1: copied into bucket 1               :
//   gradient 0: copied; bucket 1 full, launch ───▶ allreduce 1
//               all launched: queue finalize()     :                   wait 0, copy out
//                                                  :                   wait 1, copy out
//
// mode_ goes kIdle ─ prepareForBackward() ─▶ kSynchronise ─ finalize() ─▶ kIdle. A forward under
// no_sync sets kAccumulate in its place, and gradients are then noted and left alone. A gradient
// that comes in kIdle belongs to a forward that did not go through this.
//
// Autograd may run one thread for each device, so gradients arrive on several at once. The mutex is
// held from a gradient's arrival to the end of its copy. It is free while a hook runs, which may
// take as long as it likes, and while finalize() waits. One thread at a time launches: another one
// that fills a bucket meanwhile goes back to computing, and the first finds the bucket when its
// hook returns. So exactly one call of launchReady() learns that all is launched, and queues
// finalize() once.
//
// finalize() is a callback of autograd's engine: it runs when the backward has no more work, on the
// thread that did the last of it. On the CPU that is the one that called backward().
// --- A backward ---

void Reducer::onGradient(std::size_t index, bool gradient) {
  // The engine runs a backward with gradient mode on if, and only if, it is to be differentiated.
  const bool createsGraph = at::GradMode::is_enabled();
  at::NoGradGuard noGrad;
  Parts& parts = *parts_;
  Lock lock(parts.mutex);
  if (mode_ == Mode::kIdle) {
    warnOnce(warnedUnexpected_,
             fmt::format("parameter {} got a gradient outside a synchronised forward: it stays on "
                         "rank {} and is not averaged. Run the forward through "
                         "DistributedDataParallel, once for each backward (said once)",
                         parts.parameters.named(index), parts.group->rank()));
    return;
  }
  if (createsGraph) {
    warnOnce(warnedHigherOrder_,
             fmt::format("rank {}: a backward with create_graph: the averaged gradients carry no "
                         "graph, so that gradients of gradients are of this rank alone (said once)",
                         parts.group->rank()));
  }
  parts.lane.hostInstant(trace::EventKind::kGradientReady, index);
  parts.lane.coreWait();
  // Also under no_sync: the next synchronised backward averages the sum, so that what was used at
  // any time since the last reduction counts.
  if (gradient) {
    parts.used.mark(index);
  }
  if (mode_ == Mode::kAccumulate) {
    accumulated_ = true;
    return;
  }
  try {
    receive(index, lock);
  } catch (const std::exception& error) {
    parts.failure.note(lock, error);
    throw;
  }
}

void Reducer::receive(std::size_t index, Lock& lock) {
  Parts& parts = *parts_;
  // Other threads of this backward may not have heard yet that one of them threw.
  if (!parts.failure.text().empty()) {
    throw DdpError(fmt::format("rank {}: an earlier gradient of this iteration failed: {}",
                               parts.group->rank(), parts.failure.text()));
  }
  unfinished_ = true;
  if (parts.ready.recording()) {
    parts.ready.record(index);
    queueRecordedReduction();
    return;
  }
  // Not before the first gradient: a forward without a backward must not fill a bucket.
  parts.ready.takeUnused([this](std::size_t unused) { take(unused); });
  if (!parts.ready.came(index)) {
    return;
  }
  take(index);
  if (launchReady(lock)) {
    compat::afterThisBackward(parts.parameters.device(), [this] { finalize(false); });
  }
}

void Reducer::take(std::size_t index) {
  Parts& parts = *parts_;
  parts.ready.note(index);
  parts.deferred.note(index);
  if (parts.deferred.holds(index)) {
    parts.deferred.take(index);
    return;
  }
  const BucketSet::Place place = parts.buckets.placeOf(index);
  Bucket& bucket = parts.buckets[place.bucket];
  // A gradient that is copied later is checked now, so that the error comes at its parameter.
  const bool batched = parts.options.batchedGradCopy && !bucket.sparse();
  if (batched) {
    parts.copies.check(index, bucket.slice(place.slot));
  } else {
    parts.copies.in(index, bucket, place.slot, place.bucket, parts.hook->takesShares());
  }
  if (--bucket.pending == 0) {
    if (batched) {
      parts.copies.inAll(bucket, place.bucket);
    }
    parts.lane.instant(trace::EventKind::kBucketReady, hooks::eventBucket(place.bucket),
                       bucket.bytes());
  }
}

/// Returns true once in a backward: when this call launched the last of what it reduces.
bool Reducer::launchReady(Lock& lock) {
  Parts& parts = *parts_;
  if (launchedAll_ || !parts.pipeline.launchReady(lock)) {
    return false;
  }
  // Asked even where buckets are left: the trigger may come before the last bucket.
  if (!parts.deferred.launch(parts.ready, parts.pipeline.left() == 0) ||
      parts.pipeline.left() > 0) {
    return false;
  }
  launchedAll_ = true;
  // After all buckets, so that every gradient of this backward has left its mark.
  parts.used.launch();
  return true;
}

void Reducer::queueRecordedReduction() {
  if (!recordingQueued_) {
    recordingQueued_ = true;
    compat::afterThisBackward(parts_->parameters.device(), [this] { reduceRecorded(); });
  }
}

void Reducer::reduceRecorded() {
  at::NoGradGuard noGrad;
  Parts& parts = *parts_;
  Lock lock(parts.mutex);
  try {
    // All gradients lie in the parameters now, summed over their uses: taken here, they fill all
    // buckets, and one call launches them in order.
    parts.ready.endRecording([this](std::size_t index) { take(index); });
    launchReady(lock);
  } catch (const std::exception& error) {
    parts.failure.note(lock, error);
    throw;
  }
  lock.unlock();
  finalize(false);
}

void Reducer::finalize(bool shadow) {
  at::NoGradGuard noGrad;
  Parts& parts = *parts_;
  const StepLane::Moment start = parts.lane.now();
  const std::int64_t backwardEnd = DdpTimes::now();
  try {
    // In the order in which the ranks launched them. Sparse gradients are exchanged last since that
    // takes several collectives, each waiting for the one before, and dense results shall not wait.
    // The map is awaited even if no parameter had to ask for it: finish() reads it.
    parts.pipeline.writeResults(shadow);
    parts.deferred.await();
    parts.pipeline.exchangeSparse(shadow);
    parts.used.await();
  } catch (const std::exception& error) {
    Lock lock(parts.mutex);
    parts.failure.note(lock, error);
    throw;
  }
  restorePrecision();
  std::lock_guard lock(parts.mutex);
  // Only now, so that a gradient that came during the wait was refused as one too many.
  mode_ = Mode::kIdle;
  unfinished_ = false;
  ++parts.reductions;
  parts.used.finish();
  parts.checks.send(!parts.deferred.none());
  if (!shadow) {
    parts.lane.between(trace::EventKind::kFinalize, start, parts.lane.now());
    parts.times.backwardEnd = backwardEnd;
    parts.times.communicationEnd = DdpTimes::now();
    parts.times.count();
  }
}

// --- Errors ---

void Reducer::checkFinalized() {
  checkReduced(true);
  failWith(parts_->parameters.thawed());
  restorePrecision();  // a backward under no_sync leaves it low
}

void Reducer::checkReduced(bool backwardRequired) {
  Parts& parts = *parts_;
  Lock lock(parts.mutex);
  if (!parts.failure.text().empty()) {
    throw DdpError(fmt::format(
        "rank {}: an earlier backward failed, and the gradients of the ranks no longer agree: {}",
        parts.group->rank(), parts.failure.text()));
  }
  if (unfinished_) {
    parts.failure.fail(lock, parts.ready.missingText(parts.pipeline.left(), parts.buckets.size()));
  }
  if (backwardRequired && mode_ == Mode::kSynchronise) {
    parts.failure.fail(
        lock,
        fmt::format(
            "rank {}: the forward of step {} was followed by no backward, so that the other ranks "
            "wait for this rank's gradients: run the backward on every rank (torch::autograd::grad "
            "is none: it gives gradients to no parameter), or the forward without gradients "
            "(at::NoGradGuard)",
            parts.group->rank(), parts.lane.step()));
  }
}

/// Fails with `text`; an empty one means that there is nothing to say.
void Reducer::failWith(std::string text) {
  if (!text.empty()) {
    Lock lock(parts_->mutex);
    parts_->failure.fail(lock, std::move(text));
  }
}

void Reducer::failForward(const std::string& what) {
  parts_->failure.noteForward(what);
}

void Reducer::warnOnce(bool& warned, const std::string& text) {
  if (!std::exchange(warned, true)) {
    parts_->lane.warn(text);
  }
}

// --- What it is asked ---

void Reducer::setDivisor(int divisor) {
  LOCKSTEP_CHECK(divisor > 0, "gradients divided by {}", divisor);
  std::lock_guard lock(parts_->mutex);
  parts_->divideBy(divisor);
}

void Reducer::setStep(std::uint32_t step) {
  std::lock_guard lock(parts_->mutex);
  parts_->lane.setStep(step);
}

const buckets::BucketPlan& Reducer::plan() const {
  return parts_->buckets.plan();
}

bool Reducer::hasRebuiltBuckets() const {
  return parts_->rebuilt;
}

bool Reducer::canSetStaticGraph() const {
  return parts_->reductions > 1 && parts_->ready.unusedStayed();
}

Reducer::State Reducer::state() const {
  std::lock_guard lock(parts_->mutex);
  return {parts_->times, parts_->ready.unused(), parts_->used.usedBy(), parts_->ready.order(),
          parts_->failure.text()};
}

void Reducer::recordSpan(trace::EventKind kind, std::uint64_t startTicks) {
  std::lock_guard lock(parts_->mutex);
  parts_->lane.hostSpan(kind, startTicks);
}

}  // namespace lockstep::ddp
