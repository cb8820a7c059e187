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

struct Reducer::Core : ReducerContext {
  using ReducerContext::ReducerContext;
  using Lock = std::unique_lock<std::mutex>;

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

  void watchParameters();
  void rebuildIfDue();
  void resetIteration();
  void restorePrecision();

  void onGradient(std::size_t index, bool gradient);
  void receive(std::size_t index, Lock& lock);
  void take(std::size_t index);
  bool launchReady(Lock& lock);
  void queueRecordedReduction();
  void reduceRecorded();
  void finalize(bool shadow);

  void checkReduced(bool backwardRequired);
  void failWith(std::string text);
  void warnOnce(bool& warned, const std::string& text);

  // Under the mutex.
  enum class Mode {
    kIdle,         // gradients that come now belong to no forward of ours
    kAccumulate,   // no_sync
    kSynchronise,  // between prepareForBackward and the end of the reduction
  };
  Mode mode = Mode::kIdle;
  bool launchedAll = false;      // of this iteration
  bool recordingQueued = false;  // the recorded backward's reduction is to come at its end
  bool unfinished = false;       // a gradient came, and the reduction has not ended
  bool accumulated = false;      // a gradient came since a forward under no_sync
  bool warnedUnexpected = false;
  bool warnedHigherOrder = false;

  const std::shared_ptr<const bool> alive = std::make_shared<bool>(true);  // for graphs kept
};

Reducer::Reducer(std::vector<NamedTensor> parameters,
                 std::shared_ptr<process_group::ProcessGroup> group, ReducerOptions options)
    : core_(std::make_unique<Core>(std::move(parameters), std::move(group), std::move(options))) {
  Core& core = *core_;
  // As c10d: where unused parameters are searched there is no rebuild to put the caps right.
  const auto rule =
      core.options.searchesUnused() ? buckets::BucketRule::kC10d19 : core.options.rule;
  core.useBuckets(buckets::planConstruction(core.plannedSpecs(), rule, core.options.caps));
  core.lane.tracer().send(trace::toJson(core.parameters.message()));
  core.sendLayout(0, "construction");
  // In shared memory, for the report about a rank that dies; a longer name is cut.
  auto& hook = core.lane.tracer().lastWords().hook;
  hook[core.hook->name().copy(hook.data(), hook.size() - 1)] = '\0';
  core.watchParameters();
}

Reducer::~Reducer() {
  // After a failure the count of searches says nothing: iterations are missing from it.
  if (core_->failure.text().empty()) {
    core_->used.warnIfInVain();
  }
  core_->restorePrecision();
  core_->parameters.unwatch();
}

void Reducer::Core::watchParameters() {
  parameters.watch([this](std::size_t index, bool gradient) { onGradient(index, gradient); });
}

// --- Around a forward ---

void Reducer::beginForward() {
  {
    std::lock_guard lock(core_->mutex);
    core_->times.forwardStart = DdpTimes::now();
    core_->lane.writeDevice();  // of the last iteration
  }
  // The order matters. Full precision comes back before change() looks at the dtypes, which it
  // would find changed otherwise; buckets are planned for the parameters' own dtypes; and only then
  // the parameters are lowered for the coming forward.
  core_->checkReduced(false);
  core_->restorePrecision();
  core_->failWith(core_->parameters.change());
  core_->rebuildIfDue();
  if (core_->options.precision != nullptr) {
    core_->options.precision->lower();
    core_->watchParameters();  // a parameter of another dtype has another accumulator
  }
}

void Reducer::Core::restorePrecision() {
  if (options.precision != nullptr) {
    options.precision->restore();
  }
}

void Reducer::Core::rebuildIfDue() {
  std::uint32_t step = 0;
  buckets::BucketPlan own;
  {
    std::lock_guard lock(mutex);
    // c10d, too, rebuilds once, and before a forward, when no activations are held: old and new
    // buckets are both in memory for a moment where gradients are views of the old ones. With
    // staticGraph the first backward is only recorded and its gradients are taken all at once, so
    // that the second tells the order.
    if (rebuilt || planned == 0 || options.searchesUnused() ||
        reductions < (options.staticGraph ? 2 : 1)) {
      return;
    }
    step = lane.step();
    own = buckets::planRebuild(plannedSpecs(), ready.rebuildOrder(), options.caps);
  }
  const std::uint64_t startTicks = base::ticks();
  // Without the mutex: this waits for the other ranks, and state() may be asked meanwhile.
  buckets::BucketPlan agreed = agreeOnPlan(*group, plannedSpecs(), own, step);
  {
    std::lock_guard lock(mutex);
    useBuckets(std::move(agreed));
    rebuilt = true;
    lane.hostSpan(trace::EventKind::kRebuildBuckets, startTicks);
  }
  sendLayout(1, "rebuild");
}

void Reducer::Core::resetIteration() {
  ready.reset();
  pipeline.reset();
  deferred.reset();
  launchedAll = false;
  recordingQueued = false;
}

void Reducer::prepareForBackward(const std::vector<at::Tensor*>& outputs) {
  Core& core = *core_;
  Core::Lock lock(core.mutex);
  core.resetIteration();
  core.checks.begin(core.buckets.size());
  core.ready.expect();
  const bool searches = core.options.searchesUnused();
  if (searches) {
    try {
      core.ready.searchUnused(outputs);
    } catch (const DdpError& error) {
      core.failure.fail(lock, error.what());
    }
    core.used.announce(core.buckets, core.ready.unused(), true);
  }
  // With a search, outputs that the loss leaves out must still give their parameters a gradient, if
  // an undefined one: else the reduction waits for them (c10d's DDPSink). While recording, the node
  // is the one place that surely runs in the outermost backward. A callback that a re-entrant
  // backward queues runs at the end of that inner one, which is too early.
  if (searches || core.ready.recording()) {
    compat::passThroughOneNode(outputs, [&core, weak = std::weak_ptr(core.alive)] {
      if (weak.expired()) {
        return;  // the graph outlived this Reducer
      }
      const Core::Lock inBackward(core.mutex);
      if (core.mode == Core::Mode::kSynchronise && core.ready.recording()) {
        core.queueRecordedReduction();
      }
    });
  }
  core.mode = Core::Mode::kSynchronise;
  core.times.backwardStart = DdpTimes::now();
}

void Reducer::accumulateLocally() {
  std::lock_guard lock(core_->mutex);
  core_->mode = Core::Mode::kAccumulate;
  core_->accumulated = false;
}

void Reducer::endAccumulation() {
  {
    std::lock_guard lock(core_->mutex);
    if (!std::exchange(core_->accumulated, false)) {
      return;
    }
  }
  core_->restorePrecision();
}

void Reducer::shadowForward() {
  core_->checkReduced(false);
  core_->rebuildIfDue();
}

void Reducer::shadowBackward(bool synchronise) {
  if (!synchronise) {
    return;
  }
  at::NoGradGuard noGrad;
  {
    std::lock_guard lock(core_->mutex);
    core_->resetIteration();
    // Gradients that this rank may still hold are not averaged in: it has used nothing.
    core_->used.clear();
    core_->used.announce(core_->buckets, core_->ready.unused(), false);
  }
  core_->pipeline.launchZeros();
  core_->used.launch();
  core_->finalize(true);
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
// Core::mode goes kIdle ─ prepareForBackward() ─▶ kSynchronise ─ finalize() ─▶ kIdle. A forward
// under no_sync sets kAccumulate in its place, and gradients are then noted and left alone. A
// gradient that comes in kIdle belongs to a forward that did not go through this.
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

void Reducer::Core::onGradient(std::size_t index, bool gradient) {
  // The engine runs a backward with gradient mode on if, and only if, it is to be differentiated.
  const bool createsGraph = at::GradMode::is_enabled();
  at::NoGradGuard noGrad;
  Lock lock(mutex);
  if (mode == Mode::kIdle) {
    warnOnce(warnedUnexpected,
             fmt::format("parameter {} got a gradient outside a synchronised forward: it stays on "
                         "rank {} and is not averaged. Run the forward through "
                         "DistributedDataParallel, once for each backward (said once)",
                         parameters.named(index), group->rank()));
    return;
  }
  if (createsGraph) {
    warnOnce(warnedHigherOrder,
             fmt::format("rank {}: a backward with create_graph: the averaged gradients carry no "
                         "graph, so that gradients of gradients are of this rank alone (said once)",
                         group->rank()));
  }
  lane.hostInstant(trace::EventKind::kGradientReady, index);
  lane.coreWait();
  // Also under no_sync: the next synchronised backward averages the sum, so that what was used at
  // any time since the last reduction counts.
  if (gradient) {
    used.mark(index);
  }
  if (mode == Mode::kAccumulate) {
    accumulated = true;
    return;
  }
  try {
    receive(index, lock);
  } catch (const std::exception& error) {
    failure.note(lock, error);
    throw;
  }
}

void Reducer::Core::receive(std::size_t index, Lock& lock) {
  // Other threads of this backward may not have heard yet that one of them threw.
  if (!failure.text().empty()) {
    throw DdpError(fmt::format("rank {}: an earlier gradient of this iteration failed: {}",
                               group->rank(), failure.text()));
  }
  unfinished = true;
  if (ready.recording()) {
    ready.record(index);
    queueRecordedReduction();
    return;
  }
  // Not before the first gradient: a forward without a backward must not fill a bucket.
  ready.takeUnused([this](std::size_t unused) { take(unused); });
  if (!ready.came(index)) {
    return;
  }
  take(index);
  if (launchReady(lock)) {
    compat::afterThisBackward(parameters.device(), [this] { finalize(false); });
  }
}

void Reducer::Core::take(std::size_t index) {
  ready.note(index);
  deferred.note(index);
  if (deferred.holds(index)) {
    deferred.take(index);
    return;
  }
  const BucketSet::Place place = buckets.placeOf(index);
  Bucket& bucket = buckets[place.bucket];
  // A gradient that is copied later is checked now, so that the error comes at its parameter.
  const bool batched = options.batchedGradCopy && !bucket.sparse();
  if (batched) {
    copies.check(index, bucket.slice(place.slot));
  } else {
    copies.in(index, bucket, place.slot, place.bucket, hook->takesShares());
  }
  if (--bucket.pending == 0) {
    if (batched) {
      copies.inAll(bucket, place.bucket);
    }
    lane.instant(trace::EventKind::kBucketReady, hooks::eventBucket(place.bucket), bucket.bytes());
  }
}

/// Returns true once in a backward: when this call launched the last of what it reduces.
bool Reducer::Core::launchReady(Lock& lock) {
  if (launchedAll || !pipeline.launchReady(lock)) {
    return false;
  }
  // Asked even where buckets are left: the trigger may come before the last bucket.
  if (!deferred.launch(ready, pipeline.left() == 0) || pipeline.left() > 0) {
    return false;
  }
  launchedAll = true;
  // After all buckets, so that every gradient of this backward has left its mark.
  used.launch();
  return true;
}

void Reducer::Core::queueRecordedReduction() {
  if (!recordingQueued) {
    recordingQueued = true;
    compat::afterThisBackward(parameters.device(), [this] { reduceRecorded(); });
  }
}

void Reducer::Core::reduceRecorded() {
  at::NoGradGuard noGrad;
  Lock lock(mutex);
  try {
    // All gradients lie in the parameters now, summed over their uses: taken here, they fill all
    // buckets, and one call launches them in order.
    ready.endRecording([this](std::size_t index) { take(index); });
    launchReady(lock);
  } catch (const std::exception& error) {
    failure.note(lock, error);
    throw;
  }
  lock.unlock();
  finalize(false);
}

void Reducer::Core::finalize(bool shadow) {
  at::NoGradGuard noGrad;
  const StepLane::Moment start = lane.now();
  const std::int64_t backwardEnd = DdpTimes::now();
  try {
    // In the order in which the ranks launched them. Sparse gradients are exchanged last since that
    // takes several collectives, each waiting for the one before, and dense results shall not wait.
    // The map is awaited even if no parameter had to ask for it: finish() reads it.
    pipeline.writeResults(shadow);
    deferred.await();
    pipeline.exchangeSparse(shadow);
    used.await();
  } catch (const std::exception& error) {
    Lock lock(mutex);
    failure.note(lock, error);
    throw;
  }
  restorePrecision();
  std::lock_guard lock(mutex);
  // Only now, so that a gradient that came during the wait was refused as one too many.
  mode = Mode::kIdle;
  unfinished = false;
  ++reductions;
  used.finish();
  checks.send(!deferred.none());
  if (!shadow) {
    lane.between(trace::EventKind::kFinalize, start, lane.now());
    times.backwardEnd = backwardEnd;
    times.communicationEnd = DdpTimes::now();
    times.count();
  }
}

// --- Errors ---

void Reducer::checkFinalized() {
  core_->checkReduced(true);
  core_->failWith(core_->parameters.thawed());
  core_->restorePrecision();  // a backward under no_sync leaves it low
}

void Reducer::Core::checkReduced(bool backwardRequired) {
  Lock lock(mutex);
  if (!failure.text().empty()) {
    throw DdpError(fmt::format(
        "rank {}: an earlier backward failed, and the gradients of the ranks no longer agree: {}",
        group->rank(), failure.text()));
  }
  if (unfinished) {
    failure.fail(lock, ready.missingText(pipeline.left(), buckets.size()));
  }
  if (backwardRequired && mode == Mode::kSynchronise) {
    failure.fail(
        lock,
        fmt::format(
            "rank {}: the forward of step {} was followed by no backward, so that the other ranks "
            "wait for this rank's gradients: run the backward on every rank (torch::autograd::grad "
            "is none: it gives gradients to no parameter), or the forward without gradients "
            "(at::NoGradGuard)",
            group->rank(), lane.step()));
  }
}

/// Fails with `text`; an empty one means that there is nothing to say.
void Reducer::Core::failWith(std::string text) {
  if (!text.empty()) {
    Lock lock(mutex);
    failure.fail(lock, std::move(text));
  }
}

void Reducer::failForward(const std::string& what) {
  core_->failure.noteForward(what);
}

void Reducer::Core::warnOnce(bool& warned, const std::string& text) {
  if (!std::exchange(warned, true)) {
    lane.warn(text);
  }
}

// --- What it is asked ---

void Reducer::setDivisor(int divisor) {
  LOCKSTEP_CHECK(divisor > 0, "gradients divided by {}", divisor);
  std::lock_guard lock(core_->mutex);
  core_->divideBy(divisor);
}

void Reducer::setStep(std::uint32_t step) {
  std::lock_guard lock(core_->mutex);
  core_->lane.setStep(step);
}

const buckets::BucketPlan& Reducer::plan() const {
  return core_->buckets.plan();
}

bool Reducer::hasRebuiltBuckets() const {
  return core_->rebuilt;
}

bool Reducer::canSetStaticGraph() const {
  return core_->reductions > 1 && core_->ready.unusedStayed();
}

Reducer::State Reducer::state() const {
  std::lock_guard lock(core_->mutex);
  return {core_->times, core_->ready.unused(), core_->used.usedBy(), core_->ready.order(),
          core_->failure.text()};
}

void Reducer::recordSpan(trace::EventKind kind, std::uint64_t startTicks) {
  std::lock_guard lock(core_->mutex);
  core_->lane.hostSpan(kind, startTicks);
}

}  // namespace lockstep::ddp
