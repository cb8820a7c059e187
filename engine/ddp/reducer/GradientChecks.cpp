#include "engine/ddp/reducer/GradientChecks.h"

#include <ATen/ATen.h>

#include "engine/base/Clock.h"
#include "engine/base/Xxh64.h"
#include "engine/hooks/HookTrace.h"
#include "engine/trace/Event.h"
#include "engine/trace/Messages.h"

namespace lockstep::ddp {

bool GradientChecks::isDue() {
  const std::int64_t every = context_.options.gradientCheckEvery;
  if (every <= 0) {
    return false;
  }
  // With accumulation, a step that is due may reduce nothing: the next one that does stands in.
  const std::int64_t step = context_.lane.step();
  const std::int64_t period = step / every;
  const bool due = step % every == 0 || (reducedPeriod_ && *reducedPeriod_ != period);
  reducedPeriod_ = period;
  return due && context_.lane.enabled();
}

void GradientChecks::begin(std::size_t buckets) {
  tallies_.assign(isDue() ? buckets + 1 : 0, {});
  reduced_.clear();
  reduced_.resize(buckets);
}

void GradientChecks::measure(std::size_t index, const Bucket& bucket, std::size_t slot,
                             std::optional<std::size_t> number, bool shares) {
  const at::Tensor& grad = context_.parameters.tensor(index).grad();
  if (tallies_.empty() || !grad.defined()) {
    return;
  }
  const std::uint64_t startTicks = base::ticks();
  // The values of a sparse gradient may be one number that is expanded.
  const at::Tensor measured =
      bucket.sparse() ? grad.coalesce().values().contiguous() : bucket.slice(slot);
  GradientTally& tally = number ? tallies_[*number] : tallies_.back();
  tally.add(static_cast<std::uint32_t>(index), measured, shares ? context_.divisor : 1);
  context_.lane.hostSpan(trace::EventKind::kGradientCheck, startTicks,
                         number ? hooks::eventBucket(*number) : trace::kNoBucket, index);
}

bool GradientChecks::measureReduced(std::size_t number, const at::Tensor& result,
                                    std::uint64_t bytes) {
  if (tallies_.empty()) {
    return false;
  }
  const std::uint64_t startTicks = base::ticks();
  Reduced& reduced = reduced_[number].emplace();
  reduced.tally.add(0, result, 1);
  // A device would have to be waited for, with every bucket.
  if (result.is_cpu()) {
    base::Xxh64 hash;
    hash.update(result.data_ptr(), result.nbytes());
    reduced.hash = hash.digest();
  }
  context_.lane.hostSpan(trace::EventKind::kGradientCheck, startTicks, hooks::eventBucket(number),
                         bytes, trace::kWholeBucket);
  return true;
}

void GradientChecks::send(bool deferred) {
  if (tallies_.empty()) {
    return;
  }
  trace::GradientsMessage message;
  message.step = context_.lane.step();
  for (std::size_t i = 0; i + 1 < tallies_.size(); ++i) {
    auto& bucket = message.buckets.emplace_back(tallies_[i].of(hooks::eventBucket(i)));
    if (reduced_[i]) {
      bucket.reduced = {reduced_[i]->tally.of(bucket.bucket).norm, reduced_[i]->hash};
    }
  }
  if (deferred) {
    message.buckets.push_back(tallies_.back().of(trace::kNoBucket));
  }
  tallies_.clear();
  context_.lane.tracer().send(trace::toJson(message));
}

}  // namespace lockstep::ddp
