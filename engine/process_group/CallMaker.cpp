#include "engine/process_group/CallMaker.h"

#include <fmt/format.h>

#include "engine/process_group/Arguments.h"

namespace lockstep::process_group {

using trace::Operation;

namespace {

Call makeCall(Operation operation, const std::vector<at::Tensor>& tensors,
              const CallOptions& options, int root = -1) {
  Call call;
  call.operation = operation;
  call.root = root;
  call.options = options;
  call.describeTensors(tensors);
  return call;
}

std::vector<std::uint64_t> splitBytes(const at::Tensor& tensor,
                                      const std::vector<std::int64_t>& splits) {
  const std::uint64_t rows = static_cast<std::uint64_t>(tensor.size(0));
  const std::uint64_t rowBytes = rows == 0 ? 0 : tensor.nbytes() / rows;
  std::vector<std::uint64_t> bytes;
  for (const std::int64_t split : splits) {
    bytes.push_back(static_cast<std::uint64_t>(split) * rowBytes);
  }
  return bytes;
}

void checkTag(const Arguments& arguments, int tag) {
  if (tag < 0) {
    arguments.refuse(fmt::format("tag is {}; it must not be negative", tag));
  }
}

}  // namespace

CallMaker::CallMaker(std::string backend, int rank, int size, Devices devices)
    : backend_(std::move(backend)),
      rank_(rank),
      size_(size),
      cpuOnly_(devices == Devices::kCpu) {}

Call CallMaker::broadcast(const std::vector<at::Tensor>& tensors, int root,
                          const CallOptions& options) const {
  const Arguments arguments(backend_, Operation::kBroadcast, size_, cpuOnly_);
  arguments.tensors(tensors, "tensors");
  arguments.rank(root, "root");
  arguments.timeout(options.timeout);
  return makeCall(Operation::kBroadcast, tensors, options, root);
}

Call CallMaker::allreduce(const std::vector<at::Tensor>& tensors, ReduceOp op,
                          const CallOptions& options) const {
  const Arguments arguments(backend_, Operation::kAllreduce, size_, cpuOnly_);
  arguments.tensors(tensors, "tensors");
  arguments.sameDtype(tensors, "tensors");
  arguments.reducible(tensors[0].scalar_type(), op);
  arguments.timeout(options.timeout);
  Call call = makeCall(Operation::kAllreduce, tensors, options);
  call.reduce = op;
  return call;
}

Call CallMaker::reduce(const at::Tensor& tensor, int root, ReduceOp op,
                       const CallOptions& options) const {
  const Arguments arguments(backend_, Operation::kReduce, size_, cpuOnly_);
  arguments.tensor(tensor, "tensor");
  arguments.rank(root, "root");
  arguments.reducible(tensor.scalar_type(), op);
  arguments.timeout(options.timeout);
  Call call = makeCall(Operation::kReduce, {tensor}, options, root);
  call.reduce = op;
  return call;
}

Call CallMaker::allgather(const std::vector<at::Tensor>& outputs, const at::Tensor& input,
                          const CallOptions& options) const {
  const Arguments arguments(backend_, Operation::kAllgather, size_, cpuOnly_);
  arguments.tensor(input, "input");
  arguments.onePerRank(outputs, "outputs", input, "input");
  arguments.timeout(options.timeout);
  return makeCall(Operation::kAllgather, {input}, options);
}

Call CallMaker::gather(const std::vector<at::Tensor>& outputs, const at::Tensor& input, int root,
                       const CallOptions& options) const {
  const Arguments arguments(backend_, Operation::kGather, size_, cpuOnly_);
  arguments.tensor(input, "input");
  arguments.rank(root, "root");
  if (rank_ == root) {
    arguments.onePerRank(outputs, "outputs", input, "input");
  } else {
    arguments.noneUnlessRoot(outputs, "outputs", root);
  }
  arguments.timeout(options.timeout);
  return makeCall(Operation::kGather, {input}, options, root);
}

Call CallMaker::scatter(const at::Tensor& output, const std::vector<at::Tensor>& inputs, int root,
                        const CallOptions& options) const {
  const Arguments arguments(backend_, Operation::kScatter, size_, cpuOnly_);
  arguments.tensor(output, "output");
  arguments.rank(root, "root");
  if (rank_ == root) {
    arguments.onePerRank(inputs, "inputs", output, "output");
  } else {
    arguments.noneUnlessRoot(inputs, "inputs", root);
  }
  arguments.timeout(options.timeout);
  return makeCall(Operation::kScatter, {output}, options, root);
}

Call CallMaker::reduceScatter(const at::Tensor& output, const std::vector<at::Tensor>& inputs,
                              ReduceOp op, const CallOptions& options) const {
  const Arguments arguments(backend_, Operation::kReduceScatter, size_, cpuOnly_);
  arguments.tensor(output, "output");
  arguments.onePerRank(inputs, "inputs", output, "output");
  arguments.reducible(output.scalar_type(), op);
  arguments.timeout(options.timeout);
  Call call = makeCall(Operation::kReduceScatter, {output}, options);
  call.reduce = op;
  return call;
}

Call CallMaker::alltoall(const at::Tensor& output, const at::Tensor& input,
                         std::vector<std::int64_t>& outputSplits,
                         std::vector<std::int64_t>& inputSplits,
                         const CallOptions& options) const {
  const Arguments arguments(backend_, Operation::kAlltoall, size_, cpuOnly_);
  arguments.tensor(output, "output");
  arguments.tensor(input, "input");
  if (output.scalar_type() != input.scalar_type()) {
    arguments.refuse(fmt::format("output is {} and input is {}; they must have the same dtype",
                                 c10::toString(output.scalar_type()),
                                 c10::toString(input.scalar_type())));
  }
  arguments.splits(outputSplits, output, "outputSplits", "output");
  arguments.splits(inputSplits, input, "inputSplits", "input");
  arguments.timeout(options.timeout);
  Call call = makeCall(Operation::kAlltoall, {input}, options);
  call.bytesTo = splitBytes(input, inputSplits);
  call.bytesFrom = splitBytes(output, outputSplits);
  const auto self = static_cast<std::size_t>(rank_);
  if (call.bytesTo[self] != call.bytesFrom[self]) {
    arguments.refuse(fmt::format("inputSplits[{0}] is {1} bytes and outputSplits[{0}] is {2}; "
                                 "what this rank sends to itself must have one size",
                                 rank_, call.bytesTo[self], call.bytesFrom[self]));
  }
  return call;
}

Call CallMaker::send(const at::Tensor& tensor, int to, int tag, const CallOptions& options) const {
  const Arguments arguments(backend_, Operation::kSend, size_, cpuOnly_);
  arguments.tensor(tensor, "tensor");
  arguments.peer(to, rank_, "to");
  arguments.timeout(options.timeout);
  checkTag(arguments, tag);
  return makeCall(Operation::kSend, {tensor}, options, to);
}

Call CallMaker::recv(const at::Tensor& tensor, int from, int tag,
                     const CallOptions& options) const {
  const Arguments arguments(backend_, Operation::kRecv, size_, cpuOnly_);
  arguments.tensor(tensor, "tensor");
  if (from != ProcessGroup::kAnySource) {
    arguments.peer(from, rank_, "from");
  } else if (size_ == 1) {
    arguments.refuse("from is any source, and there is no other rank in a group of one");
  }
  arguments.timeout(options.timeout);
  checkTag(arguments, tag);
  return makeCall(Operation::kRecv, {tensor}, options, from);
}

Call CallMaker::barrier(const CallOptions& options) const {
  const Arguments arguments(backend_, Operation::kBarrier, size_, cpuOnly_);
  arguments.timeout(options.timeout);
  return makeCall(Operation::kBarrier, {}, options);
}

}  // namespace lockstep::process_group
