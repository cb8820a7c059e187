#include "engine/process_group/ProcessGroup.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <stdexcept>

#include "engine/base/Check.h"
#include "engine/process_group/Request.h"

namespace lockstep::process_group {

using trace::Operation;

namespace {

using Tensors = std::vector<at::Tensor>;

Request requestOf(Operation operation, const CallOptions& options, int root = -1,
                  Tensors outputs = {}, Tensors inputs = {}, ReduceOp reduce = ReduceOp::kSum) {
  Request request;
  request.call.operation = operation;
  request.call.reduce = reduce;
  request.call.root = root;
  request.call.options = options;
  request.outputs = std::move(outputs);
  request.inputs = std::move(inputs);
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

ProcessGroup::WorkPtr ProcessGroup::broadcast(Tensors tensors, int root,
                                              const CallOptions& options) {
  return call(requestOf(Operation::kBroadcast, options, root, std::move(tensors)));
}

ProcessGroup::WorkPtr ProcessGroup::allreduce(Tensors tensors, ReduceOp op,
                                              const CallOptions& options) {
  return call(requestOf(Operation::kAllreduce, options, -1, std::move(tensors), {}, op));
}

ProcessGroup::WorkPtr ProcessGroup::reduce(at::Tensor tensor, int root, ReduceOp op,
                                           const CallOptions& options) {
  return call(requestOf(Operation::kReduce, options, root, {std::move(tensor)}, {}, op));
}

ProcessGroup::WorkPtr ProcessGroup::allgather(Tensors outputs, at::Tensor input,
                                              const CallOptions& options) {
  return call(
      requestOf(Operation::kAllgather, options, -1, std::move(outputs), {std::move(input)}));
}

ProcessGroup::WorkPtr ProcessGroup::gather(Tensors outputs, at::Tensor input, int root,
                                           const CallOptions& options) {
  return call(requestOf(Operation::kGather, options, root, std::move(outputs), {std::move(input)}));
}

ProcessGroup::WorkPtr ProcessGroup::scatter(at::Tensor output, Tensors inputs, int root,
                                            const CallOptions& options) {
  return call(
      requestOf(Operation::kScatter, options, root, {std::move(output)}, std::move(inputs)));
}

ProcessGroup::WorkPtr ProcessGroup::reduceScatter(at::Tensor output, Tensors inputs, ReduceOp op,
                                                  const CallOptions& options) {
  return call(requestOf(Operation::kReduceScatter, options, -1, {std::move(output)},
                        std::move(inputs), op));
}

ProcessGroup::WorkPtr ProcessGroup::alltoall(at::Tensor output, at::Tensor input,
                                             std::vector<std::int64_t> outputSplits,
                                             std::vector<std::int64_t> inputSplits,
                                             const CallOptions& options) {
  Request request =
      requestOf(Operation::kAlltoall, options, -1, {std::move(output)}, {std::move(input)});
  request.outputSplits = std::move(outputSplits);
  request.inputSplits = std::move(inputSplits);
  return call(std::move(request));
}

ProcessGroup::WorkPtr ProcessGroup::send(at::Tensor tensor, int to, int tag,
                                         const CallOptions& options) {
  Request request = requestOf(Operation::kSend, options, to, {std::move(tensor)});
  request.tag = tag;
  return call(std::move(request));
}

ProcessGroup::WorkPtr ProcessGroup::recv(at::Tensor tensor, int from, int tag,
                                         const CallOptions& options) {
  Request request = requestOf(Operation::kRecv, options, from, {std::move(tensor)});
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
