#include "engine/process_group/Request.h"

#include <fmt/format.h>

namespace lockstep::process_group {

using trace::Operation;

namespace {

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

/// Of a gather or scatter: the root has one tensor a rank, the others none.
void checkAtRoot(const Arguments& arguments, const std::vector<at::Tensor>& tensors,
                 const std::string& parameter, const at::Tensor& model,
                 const std::string& modelParameter, bool atRoot, int root) {
  if (atRoot) {
    arguments.onePerRank(tensors, parameter, model, modelParameter);
  } else {
    arguments.noneUnlessRoot(tensors, parameter, root);
  }
}

void checkAlltoall(const Arguments& arguments, Request& request) {
  const at::Tensor& output = request.outputs.front();
  const at::Tensor& input = request.inputs.front();
  arguments.tensor(output, "output");
  arguments.tensor(input, "input");
  if (output.scalar_type() != input.scalar_type()) {
    arguments.refuse(fmt::format("output is {} and input is {}; they must have the same dtype",
                                 c10::toString(output.scalar_type()),
                                 c10::toString(input.scalar_type())));
  }
  arguments.splits(request.outputSplits, output, "outputSplits", "output");
  arguments.splits(request.inputSplits, input, "inputSplits", "input");
}

void checkTensors(const Arguments& arguments, Request& request, int rank) {
  const int root = request.call.root;
  const std::vector<at::Tensor>& outputs = request.outputs;
  const std::vector<at::Tensor>& inputs = request.inputs;
  switch (request.call.operation) {
    case Operation::kBroadcast:
      arguments.tensors(outputs, "tensors");
      arguments.rank(root, "root");
      return;
    case Operation::kAllreduce:
      arguments.tensors(outputs, "tensors");
      arguments.sameDtype(outputs, "tensors");
      return;
    case Operation::kReduce:
      arguments.tensor(outputs.front(), "tensor");
      arguments.rank(root, "root");
      return;
    case Operation::kAllgather:
      arguments.tensor(inputs.front(), "input");
      arguments.onePerRank(outputs, "outputs", inputs.front(), "input");
      return;
    case Operation::kGather:
      arguments.tensor(inputs.front(), "input");
      arguments.rank(root, "root");
      checkAtRoot(arguments, outputs, "outputs", inputs.front(), "input", rank == root, root);
      return;
    case Operation::kScatter:
      arguments.tensor(outputs.front(), "output");
      arguments.rank(root, "root");
      checkAtRoot(arguments, inputs, "inputs", outputs.front(), "output", rank == root, root);
      return;
    case Operation::kReduceScatter:
      arguments.tensor(outputs.front(), "output");
      arguments.onePerRank(inputs, "inputs", outputs.front(), "output");
      return;
    case Operation::kAlltoall: checkAlltoall(arguments, request); return;
    case Operation::kSend:
      arguments.tensor(outputs.front(), "tensor");
      arguments.peer(root, rank, "to");
      return;
    case Operation::kRecv:
      arguments.tensor(outputs.front(), "tensor");
      arguments.source(root, rank, "from");
      return;
    default: return;  // a barrier has none
  }
}

}  // namespace

// Which tensors all ranks must have alike: what is read, or what is filled where each rank reads
// something else.
const std::vector<at::Tensor>& Request::described() const {
  const bool readsOne = call.operation == Operation::kAllgather ||
                        call.operation == Operation::kGather ||
                        call.operation == Operation::kAlltoall;
  return readsOne ? inputs : outputs;
}

void complete(Request& request, const Arguments& arguments, int rank) {
  Call& call = request.call;
  checkTensors(arguments, request, rank);
  if (reduces(call.operation)) {
    arguments.reducible(request.outputs.front().scalar_type(), call.reduce);
  }
  arguments.timeout(call.options.timeout);
  if (isDirect(call.operation)) {
    arguments.tag(request.tag);
  }
  call.describeTensors(request.described());
  if (call.operation == Operation::kAlltoall) {
    call.bytesTo = splitBytes(request.inputs.front(), request.inputSplits);
    call.bytesFrom = splitBytes(request.outputs.front(), request.outputSplits);
    const auto self = static_cast<std::size_t>(rank);
    // Other ranks find out by comparing (Mismatch.cpp); with itself a rank can be sure at once.
    if (call.bytesTo[self] != call.bytesFrom[self]) {
      arguments.refuse(fmt::format("inputSplits[{0}] is {1} bytes and outputSplits[{0}] is {2}; "
                                   "what this rank sends to itself must have one size",
                                   rank, call.bytesTo[self], call.bytesFrom[self]));
    }
  }
}

}  // namespace lockstep::process_group
