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
  BucketPipeline pipeline{*this, buckets, used, copies};
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
  auto& hook = parts.lane.tracer().lastWords().hook;
  hook[parts.hook->name().copy(hook.data(), hook.size() - 1)] = '\0';
  watchParameters();
}

Reducer::~Reducer() {
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
    if (parts.rebuilt || parts.planned == 0 || parts.options.searchesUnused() ||
        parts.reductions < (parts.options.staticGraph ? 2 : 1)) {
      return;
    }
    step = parts.lane.step();
    own =
        buckets::planRebuild(parts.plannedSpecs(), parts.ready.rebuildOrder(), parts.options.caps);
  }
  const std::uint64_t startTicks = base::ticks();
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
    parts_->used.clear();
    parts_->used.announce(parts_->buckets, parts_->ready.unused(), false);
  }
  parts_->pipeline.launchZeros();
  parts_->used.launch();
  finalize(true);
}

// --- A backward ---

void Reducer::onGradient(std::size_t index, bool gradient) {
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

/// Returns whether the last of what this backward reduces is launched now.
bool Reducer::launchReady(Lock& lock) {
  Parts& parts = *parts_;
  if (launchedAll_ || !parts.pipeline.launchReady(lock)) {
    return false;
  }
  if (!parts.deferred.launch(parts.ready, parts.pipeline.left() == 0) ||
      parts.pipeline.left() > 0) {
    return false;
  }
  launchedAll_ = true;
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

/// Does nothing without a text.
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
