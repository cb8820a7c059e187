#include "engine/ddp/reducer/ReadyGradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/ddp/DdpError.h"
#include "engine/ddp/TensorText.h"
#include "engine/ddp/UnusedSearch.h"
#include "engine/trace/Event.h"

namespace lockstep::ddp {

ReadyGradients::ReadyGradients(ReducerContext& context)
    : context_(context),
      awaited_(context.parameters.size(), 1),
      firings_(context.parameters.size(), 0) {}

void ReadyGradients::reset() {
  tookUnused_ = false;
  order_.clear();
  // A forward without a backward starts the deciding iteration anew. Once it is reduced, its order
  // stays: rebuildOrder() is asked one forward later.
  if (context_.recordsOrder()) {
    decidingOrder_.clear();
  }
}

void ReadyGradients::expect() {
  // How many gradients each parameter gets is 1 by default, what the record says with a static
  // graph, and not known while that is recorded: missingText() then has nothing to list.
  recording_ = context_.options.staticGraph && !graphRecorded_;
  if (recording_) {
    std::fill(firings_.begin(), firings_.end(), 0);
    std::fill(awaited_.begin(), awaited_.end(), 0);
  } else if (context_.options.staticGraph) {
    awaited_ = firings_;
  } else {
    std::fill(awaited_.begin(), awaited_.end(), 1);
  }
}

void ReadyGradients::searchUnused(const std::vector<at::Tensor*>& outputs) {
  const std::uint64_t startTicks = base::ticks();
  std::vector<at::Tensor> tensors;
  for (const at::Tensor* output : outputs) {
    if (output->defined() && output->requires_grad()) {
      tensors.push_back(*output);
    }
  }
  if (tensors.empty()) {
    throw DdpError(fmt::format(
        "rank {}: find_unused_parameters found no tensor with a gradient in what the forward of "
        "step {} returned; return the outputs from the wrapped forward (tensors, containers of "
        "them, or a struct with visitTensors())",
        context_.group->rank(), context_.lane.step()));
  }
  auto unused = unusedParameters(tensors, context_.parameters.accumulators());
  // The first search has none before it to differ from.
  unusedStayed_ = unusedStayed_ && (context_.reductions == 0 || unused == unused_);
  unused_ = std::move(unused);
  context_.lane.hostSpan(trace::EventKind::kSearchUnused, startTicks, trace::kNoBucket,
                         unused_.size());
}

void ReadyGradients::endRecording(const std::function<void(std::size_t)>& ready) {
  recording_ = false;
  graphRecorded_ = true;
  unused_.clear();
  for (std::uint32_t i = 0; i < firings_.size(); ++i) {
    // Ready all the same: it has a place in a bucket, which would never be full without it.
    if (firings_[i] == 0) {
      unused_.push_back(i);
      context_.lane.hostInstant(trace::EventKind::kMarkedUnused, i);
    }
    ready(i);
  }
}

void ReadyGradients::takeUnused(const std::function<void(std::size_t)>& ready) {
  // Called with every gradient, as the first of a backward cannot be known before it comes.
  if (std::exchange(tookUnused_, true)) {
    return;
  }
  for (const std::uint32_t index : unused_) {
    // A gradient that comes in spite of the search is then one too many, and named (surplusText).
    awaited_[index] = 0;
    context_.lane.hostInstant(trace::EventKind::kMarkedUnused, index);
    ready(index);
  }
}

bool ReadyGradients::came(std::size_t index) {
  if (awaited_[index] > 0) {
    return --awaited_[index] == 0;
  }
  throw DdpError(surplusText(index));
}

std::string ReadyGradients::surplusText(std::size_t index) const {
  const int rank = context_.group->rank();
  const std::uint32_t step = context_.lane.step();
  const std::string parameter = context_.parameters.named(index);
  if (context_.options.staticGraph) {
    return fmt::format(
        "rank {}: parameter {} got more gradients in the backward of step {} than the {} of the "
        "first backward, which static_graph takes for the rule. The graph changed, or the backward "
        "ran again: turn static_graph off, or run one backward of the same graph",
        rank, parameter, step, firings_[index]);
  }
  if (std::find(unused_.begin(), unused_.end(), index) != unused_.end()) {
    return fmt::format(
        "rank {}: parameter {} got a gradient in the backward of step {}, though the outputs of "
        "the forward do not depend on it, so that it was taken as unused. It is used outside the "
        "wrapped forward, or for something that the forward does not return; use it within the "
        "forward and return what depends on it, or put the extra backward under no_sync",
        rank, parameter, step);
  }
  return fmt::format(
      "rank {}: parameter {} got a second gradient in the backward of step {}, after its first was "
      "taken for the reduction. It is used outside the wrapped forward, or by a re-entrant or "
      "repeated backward; call the forward once for each backward, put the extra backward under "
      "no_sync, or turn static_graph on",
      rank, parameter, step);
}

void ReadyGradients::note(std::size_t index) {
  order_.push_back(static_cast<std::uint32_t>(index));
  // Deferred parameters have no place in the buckets that this order is for.
  if (index < context_.planned && context_.recordsOrder()) {
    decidingOrder_.push_back(static_cast<std::uint32_t>(index));
  }
}

std::string ReadyGradients::missingText(std::size_t notReduced, std::size_t buckets) const {
  const int rank = context_.group->rank();
  const std::uint32_t step = context_.lane.step();
  if (recording_) {
    return fmt::format(
        "rank {}: the backward of step {}, which static_graph records, did not come to its end",
        rank, step);
  }
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < awaited_.size(); ++i) {
    if (awaited_[i] != 0) {
      missing.push_back(context_.parameters.named(i));
    }
  }
  if (context_.options.staticGraph) {
    return fmt::format(
        "rank {}: the backward of step {} gave {} of {} parameters fewer gradients than the first "
        "backward, which static_graph takes for the rule: {}. The graph changed: turn static_graph "
        "off (find_unused_parameters allows for changes), or keep the graph",
        rank, step, missing.size(), awaited_.size(), listed(missing));
  }
  return fmt::format(
      "rank {}: the backward of step {} gave no gradient to {} of {} parameters: {}; {} of {} "
      "buckets were not reduced, and the gradients on this rank are still its own. Every "
      "parameter must take part in the loss on every rank: freeze (requires_grad = false) or "
      "remove those that do not{}",
      rank, step, missing.size(), awaited_.size(), listed(missing), notReduced, buckets,
      context_.options.findUnusedParameters
          ? "; they are in the graph of the forward's outputs, which the backward did not start "
            "from"
          : ", or turn find_unused_parameters on");
}

std::vector<std::uint32_t> ReadyGradients::rebuildOrder() const {
  std::vector<std::uint32_t> order = decidingOrder_;
  // A rank that shadowed the deciding iteration saw no order: registration order, reversed.
  std::vector<char> known(context_.planned, 0);
  for (const std::uint32_t index : order) {
    known[index] = 1;
  }
  for (std::size_t i = context_.planned; i-- > 0;) {
    if (known[i] == 0) {
      order.push_back(static_cast<std::uint32_t>(i));
    }
  }
  // What takes no part counts as ready at the first gradient, but c10d puts it last.
  std::stable_partition(order.begin(), order.end(), [this](std::uint32_t index) {
    return std::find(unused_.begin(), unused_.end(), index) == unused_.end();
  });
  return order;
}

}  // namespace lockstep::ddp
