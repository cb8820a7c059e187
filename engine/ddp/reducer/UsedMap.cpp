#include "engine/ddp/reducer/UsedMap.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/Clock.h"
#include "engine/trace/Event.h"

namespace lockstep::ddp {

UsedMap::UsedMap(ReducerContext& context)
    : context_(context),
      used_(at::zeros({static_cast<std::int64_t>(context.parameters.size())}, at::kInt)) {}

void UsedMap::mark(std::size_t index) {
  used_.data_ptr<std::int32_t>()[index] = 1;
}

bool UsedMap::isUsedHere(std::size_t index) const {
  return used_.data_ptr<std::int32_t>()[index] != 0;
}

void UsedMap::clear() {
  used_.zero_();
}

// Note [Two maps]
//
// `used_` has a 1 for each parameter that got a gradient here since the last reduction. Its sum
// over the ranks tells those that no rank used: their gradients must stay as they are. It can only
// be summed at the end of a backward, when all marks are made: too late to keep a bucket from being
// sent.
//
// Hence with skipUnusedBuckets a second one, of buckets, made before the backward from what the
// search of the graph says. It is right as an upper bound: a parameter that the graph reaches may
// still get no gradient, and its bucket then carries zeros for nothing.
void UsedMap::announce(const BucketSet& buckets, const std::vector<std::uint32_t>& unused,
                       bool takesPart) {
  if (!context_.options.searchesUnused() || !context_.options.skipUnusedBuckets) {
    return;
  }
  // Skipping by this rank's own view alone would leave the others waiting.
  bucketsInUse_ = at::zeros({static_cast<std::int64_t>(buckets.size())}, at::kInt);
  auto* inUse = bucketsInUse_.data_ptr<std::int32_t>();
  for (std::uint32_t i = 0; takesPart && i < context_.planned; ++i) {
    // A gradient left from no_sync counts, although this graph does not reach the parameter.
    if (isUsedHere(i) || !std::binary_search(unused.begin(), unused.end(), i)) {
      inUse[buckets.placeOf(i).bucket] = 1;
    }
  }
  bucketsWork_ = context_.group->allreduce({bucketsInUse_}, process_group::ReduceOp::kSum,
                                           context_.callOptions());
}

bool UsedMap::communicates(std::size_t bucket) const {
  if (bucketsWork_ == nullptr) {
    return true;
  }
  bucketsWork_->wait();
  return bucketsInUse_.data_ptr<std::int32_t>()[bucket] != 0;
}

void UsedMap::launch() {
  const bool firstOfStaticGraph = context_.options.staticGraph && context_.reductions == 0;
  if (!context_.options.searchesUnused() && !firstOfStaticGraph) {
    return;
  }
  // A copy: the sum is taken in place, and keepsGradient() still asks for this rank's own marks.
  usedAnywhere_ = used_.clone();
  work_ = context_.group->allreduce({usedAnywhere_}, process_group::ReduceOp::kSum,
                                    context_.callOptions());
}

void UsedMap::await() {
  if (work_ == nullptr) {
    return;
  }
  // Without the mutex until the ranks have answered: only the finalising thread comes here.
  const std::uint64_t startTicks = base::ticks();
  work_->wait();
  work_.reset();
  std::lock_guard lock(context_.mutex);
  context_.lane.hostSpan(trace::EventKind::kUsedMap, startTicks);
}

bool UsedMap::keepsGradient(std::size_t index) {
  if (!usedAnywhere_.defined() || isUsedHere(index)) {
    return false;
  }
  await();
  return usedAnywhere_.data_ptr<std::int32_t>()[index] == 0;
}

void UsedMap::finish() {
  if (usedAnywhere_.defined()) {
    const auto* ranks = usedAnywhere_.data_ptr<std::int32_t>();
    usedBy_.assign(ranks, ranks + usedAnywhere_.numel());
  }
  // A static graph keeps its marks: they are the same in every iteration.
  if (context_.options.searchesUnused()) {
    const auto byAll = [this](std::int32_t ranks) { return ranks >= context_.group->size(); };
    const bool inVain = !usedBy_.empty() && std::all_of(usedBy_.begin(), usedBy_.end(), byAll);
    searchedInVain_ += inVain ? 1 : 0;
    clear();
  }
  bucketsWork_.reset();
}

void UsedMap::warnIfInVain() {
  if (context_.group->rank() == 0 && context_.reductions > 1 &&
      searchedInVain_ == context_.reductions) {
    context_.lane.warn(
        fmt::format("find_unused_parameters is on, and every rank used every parameter in all {} "
                    "backwards: turned off, each would be spared the search of the graph",
                    context_.reductions));
  }
}

}  // namespace lockstep::ddp
