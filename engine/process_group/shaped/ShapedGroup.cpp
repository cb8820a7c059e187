#include "engine/process_group/shaped/ShapedGroup.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/process_group/shaped/Traffic.h"

namespace lockstep::process_group {
namespace {

using trace::Operation;

std::uint64_t bytesOf(const std::vector<at::Tensor>& tensors) {
  std::uint64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    bytes += tensor.defined() ? tensor.nbytes() : 0;
  }
  return bytes;
}

/// Bytes of each peer's rows; empty splits mean equal parts, as everywhere.
std::vector<std::uint64_t> splitBytes(const at::Tensor& tensor,
                                      const std::vector<std::int64_t>& splits, int size) {
  std::vector<std::uint64_t> bytes(static_cast<std::size_t>(size), 0);
  if (!tensor.defined() || tensor.dim() == 0 || tensor.size(0) == 0) {
    return bytes;
  }
  const auto rows = static_cast<std::uint64_t>(tensor.size(0));
  for (std::size_t peer = 0; peer < bytes.size(); ++peer) {
    const std::uint64_t part =
        peer < splits.size() ? static_cast<std::uint64_t>(splits[peer]) : rows / bytes.size();
    bytes[peer] = part * (tensor.nbytes() / rows);
  }
  return bytes;
}

double bestSeconds(ProcessGroup& group, std::int64_t bytes, int rounds) {
  const at::Tensor data = at::zeros({bytes / 4}, at::kFloat);
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t start = base::monotonicNs();
    group.allreduce({data})->wait();
    best = std::min(best, static_cast<double>(base::monotonicNs() - start) * 1e-9);
  }
  return best;
}

base::Error tooFast(double wanted, const MeasuredLink& measured, const ProcessGroup& group) {
  return {base::ExitCode::kBadInput,
          fmt::format("a link of {:.3g} Gbit/s is more than half of the {:.3g} Gbit/s that {} "
                      "itself reaches between these {} ranks, so a run would show the backend and "
                      "not the link; take at most {:.2g} Gbit/s, or set link.simulate_anyway = "
                      "true to see it as a simulation only",
                      wanted, measured.bandwidthGbps, group.backendName(), group.size(),
                      measured.bandwidthGbps / 2),
          "link.bandwidth_gbps"};
}

}  // namespace

MeasuredLink measureLink(ProcessGroup& group) {
  if (group.size() < 2) {
    return {std::numeric_limits<double>::infinity(), 0};
  }
  constexpr std::int64_t kLarge = 8 << 20;
  bestSeconds(group, kLarge, 1);  // connections and pages
  const std::array<double, 2> own{bestSeconds(group, kLarge, 4), bestSeconds(group, 1024, 10)};
  // The slowest rank's figures, on all ranks, so that all decide alike.
  const at::Tensor times = at::tensor({own[0], own[1]}, at::kDouble);
  group.allreduce({times}, ReduceOp::kMax)->wait();
  const double n = group.size();
  const double bits = 2 * (n - 1) / n * static_cast<double>(kLarge) * 8;
  return {bits / times[0].item<double>() * 1e-9, times[1].item<double>() * 1e6};
}

base::Result<std::shared_ptr<ProcessGroup>> ShapedGroup::make(std::shared_ptr<ProcessGroup> inner,
                                                              store::Store& store,
                                                              ShapedOptions options) {
  Traffic::Parts parts{inner->groupName(),
                       options.groupNumber,
                       inner->rank(),
                       inner->size(),
                       LinkModel(options.link, inner->rank(), inner->size()),
                       options.clock,
                       nullptr,
                       nullptr};
  const double wanted = parts.model.slowest().bandwidthGbps;
  if (wanted > 0 && !options.simulateAnyway) {
    const MeasuredLink measured = measureLink(*inner);
    if (wanted > measured.bandwidthGbps / 2) {
      return tooFast(wanted, measured, *inner);
    }
  }
  if (parts.clock == nullptr) {
    parts.clock = std::make_shared<LinkClock>();
  }
  parts.board = ArrivalBoard::open(store, fmt::format("shaped/{}", inner->groupName()),
                                   inner->rank(), inner->size());
  // Rank 0's memory can be found as long as it is open there: until all ranks have it.
  inner->barrier()->wait();
  if (options.tracer != nullptr) {
    parts.lane = &options.tracer->lane("shaped link");
  }
  auto traffic = std::make_shared<Traffic>(std::move(parts));
  return std::shared_ptr<ProcessGroup>(new ShapedGroup(std::move(inner), std::move(traffic)));
}

ShapedGroup::ShapedGroup(std::shared_ptr<ProcessGroup> inner, std::shared_ptr<Traffic> traffic)
    : ProcessGroup(inner->rank(), inner->size(), inner->groupName()),
      inner_(std::move(inner)),
      traffic_(std::move(traffic)) {}

ShapedGroup::~ShapedGroup() {
  traffic_->close();
}

Traffic::Request ShapedGroup::request(Operation operation, std::uint64_t bytes, int root,
                                      std::vector<at::Tensor> outputs,
                                      const CallOptions& options) const {
  Traffic::Request request;
  request.operation = operation;
  request.bytes = bytes;
  request.root = root;
  if (operation != Operation::kAlltoall && !(operation == Operation::kRecv && root < 0) &&
      root < size()) {
    request.cost = traffic_->model().cost(operation, bytes, root);
  }
  request.outputs = std::move(outputs);
  request.options = options;
  if (request.options.timeout == kNoTimeout) {
    request.options.timeout = timeout();
  }
  return request;
}

ProcessGroup::WorkPtr ShapedGroup::broadcast(std::vector<at::Tensor> tensors, int root,
                                             const CallOptions& options) {
  return traffic_->submit(request(Operation::kBroadcast, bytesOf(tensors), root, tensors, options),
                          [&] { return inner_->broadcast(tensors, root, options); });
}

ProcessGroup::WorkPtr ShapedGroup::allreduce(std::vector<at::Tensor> tensors, ReduceOp op,
                                             const CallOptions& options) {
  return traffic_->submit(request(Operation::kAllreduce, bytesOf(tensors), -1, tensors, options),
                          [&] { return inner_->allreduce(tensors, op, options); });
}

ProcessGroup::WorkPtr ShapedGroup::reduce(at::Tensor tensor, int root, ReduceOp op,
                                          const CallOptions& options) {
  return traffic_->submit(request(Operation::kReduce, bytesOf({tensor}), root, {tensor}, options),
                          [&] { return inner_->reduce(tensor, root, op, options); });
}

ProcessGroup::WorkPtr ShapedGroup::allgather(std::vector<at::Tensor> outputs, at::Tensor input,
                                             const CallOptions& options) {
  return traffic_->submit(request(Operation::kAllgather, bytesOf({input}), -1, outputs, options),
                          [&] { return inner_->allgather(outputs, input, options); });
}

ProcessGroup::WorkPtr ShapedGroup::gather(std::vector<at::Tensor> outputs, at::Tensor input,
                                          int root, const CallOptions& options) {
  return traffic_->submit(request(Operation::kGather, bytesOf({input}), root, outputs, options),
                          [&] { return inner_->gather(outputs, input, root, options); });
}

ProcessGroup::WorkPtr ShapedGroup::scatter(at::Tensor output, std::vector<at::Tensor> inputs,
                                           int root, const CallOptions& options) {
  return traffic_->submit(request(Operation::kScatter, bytesOf({output}), root, {output}, options),
                          [&] { return inner_->scatter(output, inputs, root, options); });
}

ProcessGroup::WorkPtr ShapedGroup::reduceScatter(at::Tensor output, std::vector<at::Tensor> inputs,
                                                 ReduceOp op, const CallOptions& options) {
  return traffic_->submit(
      request(Operation::kReduceScatter, bytesOf({output}), -1, {output}, options),
      [&] { return inner_->reduceScatter(output, inputs, op, options); });
}

ProcessGroup::WorkPtr ShapedGroup::alltoall(at::Tensor output, at::Tensor input,
                                            std::vector<std::int64_t> outputSplits,
                                            std::vector<std::int64_t> inputSplits,
                                            const CallOptions& options) {
  auto asked = request(Operation::kAlltoall, bytesOf({input}), -1, {output}, options);
  asked.cost = traffic_->model().alltoall(splitBytes(input, inputSplits, size()),
                                          splitBytes(output, outputSplits, size()));
  return traffic_->submit(std::move(asked), [&] {
    return inner_->alltoall(output, input, outputSplits, inputSplits, options);
  });
}

ProcessGroup::WorkPtr ShapedGroup::send(at::Tensor tensor, int to, int tag,
                                        const CallOptions& options) {
  return traffic_->submit(request(Operation::kSend, bytesOf({tensor}), to, {tensor}, options),
                          [&] { return inner_->send(tensor, to, tag, options); });
}

ProcessGroup::WorkPtr ShapedGroup::recv(at::Tensor tensor, int from, int tag,
                                        const CallOptions& options) {
  return traffic_->submit(request(Operation::kRecv, bytesOf({tensor}), from, {tensor}, options),
                          [&] { return inner_->recv(tensor, from, tag, options); });
}

ProcessGroup::WorkPtr ShapedGroup::barrier(const CallOptions& options) {
  return traffic_->submit(request(Operation::kBarrier, 0, -1, {}, options),
                          [&] { return inner_->barrier(options); });
}

void ShapedGroup::abort(const std::string& reason) {
  inner_->abort(reason);
  traffic_->abort(reason);
}

}  // namespace lockstep::process_group
