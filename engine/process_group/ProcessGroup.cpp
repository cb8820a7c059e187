#include "engine/process_group/ProcessGroup.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <stdexcept>

#include "engine/base/Check.h"
#include "engine/process_group/Request.h"

namespace lockstep::process_group {

using trace::Operation;

namespace {

Request requestOf(Operation operation, const CallOptions& options, int root = -1) {
  Request request;
  request.call.operation = operation;
  request.call.root = root;
  request.call.options = options;
  return request;
}

}  // namespace

std::string_view name(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return "sum";
    case ReduceOp::kAverage: return "average";
    case ReduceOp::kProduct: return "product";
    case ReduceOp::kMin: return "min";
    case ReduceOp::kMax: return "max";
    case ReduceOp::kBitwiseAnd: return "bitwise_and";
    case ReduceOp::kBitwiseOr: return "bitwise_or";
    case ReduceOp::kBitwiseXor: return "bitwise_xor";
  }
  return "unknown";
}

ProcessGroup::WorkPtr ProcessGroup::broadcast(std::vector<at::Tensor> tensors, int root,
                                              const CallOptions& options) {
  Request request = requestOf(Operation::kBroadcast, options, root);
  request.outputs = std::move(tensors);
  return call(std::move(request));
}

ProcessGroup::WorkPtr ProcessGroup::allreduce(std::vector<at::Tensor> tensors, ReduceOp op,
                                              const CallOptions& options) {
  Request request = requestOf(Operation::kAllreduce, options);
  request.call.reduce = op;
  request.outputs = std::move(tensors);
  return call(std::move(request));
}

ProcessGroup::WorkPtr ProcessGroup::reduce(at::Tensor tensor, int root, ReduceOp op,
                                           const CallOptions& options) {
  Request request = requestOf(Operation::kReduce, options, root);
  request.call.reduce = op;
  request.outputs = {std::move(tensor)};
  return call(std::move(request));
}

ProcessGroup::WorkPtr ProcessGroup::allgather(std::vector<at::Tensor> outputs, at::Tensor input,
                                              const CallOptions& options) {
  Request request = requestOf(Operation::kAllgather, options);
  request.outputs = std::move(outputs);
  request.inputs = {std::move(input)};
  return call(std::move(request));
}

ProcessGroup::WorkPtr ProcessGroup::gather(std::vector<at::Tensor> outputs, at::Tensor input,
                                           int root, const CallOptions& options) {
  Request request = requestOf(Operation::kGather, options, root);
  request.outputs = std::move(outputs);
  request.inputs = {std::move(input)};
  return call(std::move(request));
}

ProcessGroup::WorkPtr ProcessGroup::scatter(at::Tensor output, std::vector<at::Tensor> inputs,
                                            int root, const CallOptions& options) {
  Request request = requestOf(Operation::kScatter, options, root);
  request.outputs = {std::move(output)};
  request.inputs = std::move(inputs);
  return call(std::move(request));
}

ProcessGroup::WorkPtr ProcessGroup::reduceScatter(at::Tensor output, std::vector<at::Tensor> inputs,
                                                  ReduceOp op, const CallOptions& options) {
  Request request = requestOf(Operation::kReduceScatter, options);
  request.call.reduce = op;
  request.outputs = {std::move(output)};
  request.inputs = std::move(inputs);
  return call(std::move(request));
}

ProcessGroup::WorkPtr ProcessGroup::alltoall(at::Tensor output, at::Tensor input,
                                             std::vector<std::int64_t> outputSplits,
                                             std::vector<std::int64_t> inputSplits,
                                             const CallOptions& options) {
  Request request = requestOf(Operation::kAlltoall, options);
  request.outputs = {std::move(output)};
  request.inputs = {std::move(input)};
  request.outputSplits = std::move(outputSplits);
  request.inputSplits = std::move(inputSplits);
  return call(std::move(request));
}

ProcessGroup::WorkPtr ProcessGroup::send(at::Tensor tensor, int to, int tag,
                                         const CallOptions& options) {
  Request request = requestOf(Operation::kSend, options, to);
  request.outputs = {std::move(tensor)};
  request.tag = tag;
  return call(std::move(request));
}

ProcessGroup::WorkPtr ProcessGroup::recv(at::Tensor tensor, int from, int tag,
                                         const CallOptions& options) {
  Request request = requestOf(Operation::kRecv, options, from);
  request.outputs = {std::move(tensor)};
  request.tag = tag;
  return call(std::move(request));
}

ProcessGroup::WorkPtr ProcessGroup::barrier(const CallOptions& options) {
  return call(requestOf(Operation::kBarrier, options));
}

ProcessGroup::WorkPtr ProcessGroup::call(Request request) {
  check(request);
  return start(std::move(request));
}

void ProcessGroup::check(Request& request) const {
  complete(request, Arguments(callee_, request.call.operation, size_, devices_ == Devices::kCpu),
           rank_);
}

void ProcessGroup::setTimeout(std::chrono::milliseconds timeout) {
  if (timeout.count() <= 0) {
    throw std::invalid_argument(fmt::format("{}::setTimeout: timeout is {} ms; it must be positive",
                                            callee_, timeout.count()));
  }
  timeout_.store(timeout);
}

at::Tensor ProcessGroup::allocate(std::int64_t bytes) {
  LOCKSTEP_CHECK(bytes >= 0, "a bucket of {} bytes", bytes);
  // libtorch's CPU allocator aligns to 64 bytes.
  return at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(at::kCPU));
}

}  // namespace lockstep::process_group
