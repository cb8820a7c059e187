// Operations whose bytes cross hosts once in any case: over the flat group.

#include "engine/process_group/hierarchical/Plans.h"

namespace lockstep::process_group::hierarchical {

Plan Plans::flatly(Step::Issue issue, std::uint64_t sent, std::uint64_t messages,
                   std::uint64_t received) const {
  Plan plan;
  plan.steps[kIn] = {&level_.flat, std::move(issue)};
  // Counted when it has ended well, as by the other groups.
  plan.finish = [this, sent, messages, received](const Work*) {
    if (tracer_ != nullptr && messages != 0) {
      tracer_->countSent(sent, messages);
    }
    if (tracer_ != nullptr && received != 0) {
      tracer_->countReceived(received);
    }
  };
  return plan;
}

Plan Plans::gather(const Call& call, std::vector<at::Tensor> outputs, at::Tensor input) const {
  const bool sends = isAway(call.root) && call.bytes != 0;
  const std::uint64_t others =
      rank_ == call.root ? static_cast<std::uint64_t>(map_.ranks()) - here_.size() : 0;
  return flatly(
      [this, outputs, input, root = call.root](const CallOptions& options) {
        return level_.flat->gather(outputs, input, root, options);
      },
      sends ? call.bytes : 0, sends ? 1 : 0, call.bytes * others);
}

Plan Plans::scatter(const Call& call, at::Tensor output, std::vector<at::Tensor> inputs) const {
  const std::uint64_t others = rank_ == call.root && call.bytes != 0
                                   ? static_cast<std::uint64_t>(map_.ranks()) - here_.size()
                                   : 0;
  return flatly(
      [this, output, inputs, root = call.root](const CallOptions& options) {
        return level_.flat->scatter(output, inputs, root, options);
      },
      call.bytes * others, others, isAway(call.root) ? call.bytes : 0);
}

Plan Plans::alltoall(const Call& call, at::Tensor output, at::Tensor input,
                     std::vector<std::int64_t> outputSplits,
                     std::vector<std::int64_t> inputSplits) const {
  std::uint64_t sent = 0;
  std::uint64_t messages = 0;
  std::uint64_t received = 0;
  for (int rank = 0; rank < map_.ranks(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (isAway(rank)) {
      sent += call.bytesTo[index];
      messages += call.bytesTo[index] != 0 ? 1 : 0;
      received += call.bytesFrom[index];
    }
  }
  return flatly(
      [this, output, input, outputSplits, inputSplits](const CallOptions& options) {
        return level_.flat->alltoall(output, input, outputSplits, inputSplits, options);
      },
      sent, messages, received);
}

Plan Plans::send(const Call& call, at::Tensor tensor, int tag) const {
  const bool away = isAway(call.root);
  return flatly(
      [this, tensor, to = call.root, tag](const CallOptions& options) {
        return level_.flat->send(tensor, to, tag, options);
      },
      away ? call.bytes : 0, away ? 1 : 0, 0);
}

Plan Plans::receive(const Call& call, at::Tensor tensor, int tag) const {
  Plan plan = flatly(
      [this, tensor, from = call.root, tag](const CallOptions& options) {
        return level_.flat->recv(tensor, from, tag, options);
      },
      0, 0, 0);
  // Only now it is known who sent it, if it was to be from anybody.
  plan.finish = [this, bytes = call.bytes](const Work* last) {
    if (tracer_ != nullptr && isAway(last->sourceRank())) {
      tracer_->countReceived(bytes);
    }
  };
  return plan;
}

}  // namespace lockstep::process_group::hierarchical
