#include "engine/process_group/gloo/ProcessGroupGloo.h"

#include <fmt/format.h>

#include <cstring>
#include <numeric>
#include <stdexcept>

#include "engine/process_group/Arguments.h"
#include "engine/process_group/gloo/Collectives.h"
#include "engine/process_group/gloo/Dispatcher.h"
#include "engine/process_group/gloo/PointToPoint.h"
#include "engine/process_group/gloo/Staging.h"
#include "engine/process_group/gloo/Transport.h"

namespace lockstep::process_group {

using gloo::Block;
using gloo::Coalesced;
using gloo::Flight;
using gloo::Kernel;
using gloo::Scratch;
using gloo::Staged;
using gloo::StagedList;
using std::chrono::milliseconds;
using trace::Operation;

namespace {

constexpr const char* kName = "ProcessGroupGloo";

Call makeCall(Operation operation, const std::vector<at::Tensor>& tensors,
              const CallOptions& options, int root = -1) {
  Call call;
  call.operation = operation;
  call.root = root;
  call.options = options;
  call.describeTensors(tensors);
  return call;
}

Kernel kernelFor(const at::Tensor& tensor, ReduceOp op) {
  return Kernel{reduction::combiner(tensor.scalar_type(), op),
                static_cast<std::size_t>(tensor.element_size())};
}

// Cuts a block along dimension 0 of its tensor.
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

std::vector<Block> cut(Block block, const std::vector<std::uint64_t>& bytes) {
  std::vector<Block> parts;
  for (const std::uint64_t part : bytes) {
    parts.push_back(Block{block.data, part});
    block.data += part;
  }
  return parts;
}

}  // namespace

struct ProcessGroupGloo::Parts {
  Parts(std::unique_ptr<gloo::Transport> connected, gloo::Dispatcher::Options options,
        std::shared_ptr<store::Store> store)
      : transport(std::move(connected)),
        dispatcher(std::move(options), *transport, std::move(store)),
        pointToPoint(dispatcher, *transport) {}
  ~Parts() { dispatcher.drain(); }

  std::unique_ptr<gloo::Transport> transport;
  gloo::Dispatcher dispatcher;
  gloo::PointToPoint pointToPoint;
};

base::Result<std::shared_ptr<ProcessGroupGloo>> ProcessGroupGloo::make(
    std::shared_ptr<store::Store> store, int rank, int size, const GroupOptions& options) {
  gloo::Transport::Options connection;
  connection.group = options.groupName;
  connection.rank = rank;
  connection.size = size;
  connection.interfaces = options.interfaces;
  connection.timeout = options.timeout;
  auto transport = gloo::Transport::connect(*store, connection);
  if (!transport.ok()) {
    return transport.error();
  }
  gloo::Dispatcher::Options dispatch;
  dispatch.group = options.groupName;
  dispatch.rank = rank;
  dispatch.size = size;
  dispatch.threads = options.threads;
  dispatch.tracer = options.tracer;
  dispatch.groupNumber = options.groupNumber;
  auto parts = std::make_unique<Parts>(std::move(transport).value(), std::move(dispatch),
                                       std::move(store));
  return std::shared_ptr<ProcessGroupGloo>(
      new ProcessGroupGloo(std::move(parts), rank, size, options));
}

ProcessGroupGloo::ProcessGroupGloo(std::unique_ptr<Parts> parts, int rank, int size,
                                   const GroupOptions& options)
    : ProcessGroup(rank, size, options.groupName),
      timeout_(options.timeout),
      parts_(std::move(parts)) {}

ProcessGroupGloo::~ProcessGroupGloo() = default;

milliseconds ProcessGroupGloo::limit(const CallOptions& options) const {
  return options.timeout == kNoTimeout ? timeout_.load() : options.timeout;
}

std::uint64_t ProcessGroupGloo::sequenceNumber() const { return parts_->dispatcher.sequence(); }

void ProcessGroupGloo::setTimeout(milliseconds timeout) {
  if (timeout.count() <= 0) {
    throw std::invalid_argument(fmt::format(
        "{}::setTimeout: timeout is {} ms; it must be positive", kName, timeout.count()));
  }
  timeout_.store(timeout);
}

void ProcessGroupGloo::abort(const std::string& reason) {
  parts_->dispatcher.breakGroup(gloo::Failure{"aborted: " + reason});
}

ProcessGroup::WorkPtr ProcessGroupGloo::broadcast(std::vector<at::Tensor> tensors, int root,
                                                  const CallOptions& options) {
  const Arguments arguments(kName, Operation::kBroadcast, size());
  arguments.tensors(tensors, "tensors");
  arguments.rank(root, "root");
  arguments.timeout(options.timeout);
  Call call = makeCall(Operation::kBroadcast, tensors, options, root);
  auto body = [tensors, root](Flight& flight, Scratch&) {
    if (flight.size == 1) {
      return;
    }
    StagedList staged(tensors, flight.rank == root);
    gloo::broadcast(flight, staged.blocks(), root);
    if (flight.rank != root) {
      staged.copyBack();
    }
  };
  return parts_->dispatcher.submit(std::move(call), std::move(tensors), limit(options),
                                   std::move(body));
}

ProcessGroup::WorkPtr ProcessGroupGloo::allreduce(std::vector<at::Tensor> tensors, ReduceOp op,
                                                  const CallOptions& options) {
  const Arguments arguments(kName, Operation::kAllreduce, size());
  arguments.tensors(tensors, "tensors");
  arguments.sameDtype(tensors, "tensors");
  arguments.reducible(tensors[0].scalar_type(), op);
  arguments.timeout(options.timeout);
  Call call = makeCall(Operation::kAllreduce, tensors, options);
  call.reduce = op;
  auto body = [tensors, op](Flight& flight, Scratch& scratch) {
    if (flight.size == 1) {
      return;
    }
    Coalesced flat(tensors);
    gloo::allreduce(flight, scratch, flat.block(), kernelFor(tensors[0], op));
    flat.copyBack();
  };
  return parts_->dispatcher.submit(std::move(call), std::move(tensors), limit(options),
                                   std::move(body));
}

ProcessGroup::WorkPtr ProcessGroupGloo::reduce(at::Tensor tensor, int root, ReduceOp op,
                                               const CallOptions& options) {
  const Arguments arguments(kName, Operation::kReduce, size());
  arguments.tensor(tensor, "tensor");
  arguments.rank(root, "root");
  arguments.reducible(tensor.scalar_type(), op);
  arguments.timeout(options.timeout);
  Call call = makeCall(Operation::kReduce, {tensor}, options, root);
  call.reduce = op;
  auto body = [tensor, root, op](Flight& flight, Scratch& scratch) {
    if (flight.size == 1) {
      return;
    }
    Staged staged(tensor, true);
    gloo::reduce(flight, scratch, staged.block(), kernelFor(tensor, op), root);
    if (flight.rank == root) {
      staged.copyBack();
    }
  };
  return parts_->dispatcher.submit(std::move(call), {std::move(tensor)}, limit(options),
                                   std::move(body));
}

ProcessGroup::WorkPtr ProcessGroupGloo::allgather(std::vector<at::Tensor> outputs,
                                                  at::Tensor input, const CallOptions& options) {
  const Arguments arguments(kName, Operation::kAllgather, size());
  arguments.tensor(input, "input");
  arguments.onePerRank(outputs, "outputs", input, "input");
  arguments.timeout(options.timeout);
  Call call = makeCall(Operation::kAllgather, {input}, options);
  auto body = [outputs, input](Flight& flight, Scratch&) {
    const Staged from(input, true);
    StagedList to(outputs, false);
    gloo::allgather(flight, to.blocks(), from.block());
    to.copyBack();
  };
  return parts_->dispatcher.submit(std::move(call), std::move(outputs), limit(options),
                                   std::move(body));
}

ProcessGroup::WorkPtr ProcessGroupGloo::gather(std::vector<at::Tensor> outputs, at::Tensor input,
                                               int root, const CallOptions& options) {
  const Arguments arguments(kName, Operation::kGather, size());
  arguments.tensor(input, "input");
  arguments.rank(root, "root");
  if (rank() == root) {
    arguments.onePerRank(outputs, "outputs", input, "input");
  } else {
    arguments.noneUnlessRoot(outputs, "outputs", root);
  }
  arguments.timeout(options.timeout);
  Call call = makeCall(Operation::kGather, {input}, options, root);
  auto body = [outputs, input, root](Flight& flight, Scratch&) {
    const Staged from(input, true);
    StagedList to(outputs, false);
    gloo::gather(flight, to.blocks(), from.block(), root);
    to.copyBack();
  };
  return parts_->dispatcher.submit(std::move(call), std::move(outputs), limit(options),
                                   std::move(body));
}

ProcessGroup::WorkPtr ProcessGroupGloo::scatter(at::Tensor output, std::vector<at::Tensor> inputs,
                                                int root, const CallOptions& options) {
  const Arguments arguments(kName, Operation::kScatter, size());
  arguments.tensor(output, "output");
  arguments.rank(root, "root");
  if (rank() == root) {
    arguments.onePerRank(inputs, "inputs", output, "output");
  } else {
    arguments.noneUnlessRoot(inputs, "inputs", root);
  }
  arguments.timeout(options.timeout);
  Call call = makeCall(Operation::kScatter, {output}, options, root);
  auto body = [output, inputs, root](Flight& flight, Scratch&) {
    const StagedList from(inputs, true);
    Staged to(output, false);
    gloo::scatter(flight, to.block(), from.blocks(), root);
    to.copyBack();
  };
  return parts_->dispatcher.submit(std::move(call), {std::move(output)}, limit(options),
                                   std::move(body));
}

ProcessGroup::WorkPtr ProcessGroupGloo::reduceScatter(at::Tensor output,
                                                      std::vector<at::Tensor> inputs, ReduceOp op,
                                                      const CallOptions& options) {
  const Arguments arguments(kName, Operation::kReduceScatter, size());
  arguments.tensor(output, "output");
  arguments.onePerRank(inputs, "inputs", output, "output");
  arguments.reducible(output.scalar_type(), op);
  arguments.timeout(options.timeout);
  Call call = makeCall(Operation::kReduceScatter, {output}, options);
  call.reduce = op;
  auto body = [output, inputs, op](Flight& flight, Scratch& scratch) {
    const StagedList from(inputs, true);
    Staged to(output, false);
    const Block result = to.block();
    if (flight.size > 1) {
      gloo::reduceScatter(flight, scratch, result, from.blocks(), kernelFor(output, op));
    } else if (result.bytes != 0 && result.data != from.blocks()[0].data) {
      std::memcpy(result.data, from.blocks()[0].data, result.bytes);
    }
    to.copyBack();
  };
  return parts_->dispatcher.submit(std::move(call), {std::move(output)}, limit(options),
                                   std::move(body));
}

ProcessGroup::WorkPtr ProcessGroupGloo::alltoall(at::Tensor output, at::Tensor input,
                                                 std::vector<std::int64_t> outputSplits,
                                                 std::vector<std::int64_t> inputSplits,
                                                 const CallOptions& options) {
  const Arguments arguments(kName, Operation::kAlltoall, size());
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
  const auto self = static_cast<std::size_t>(rank());
  if (call.bytesTo[self] != call.bytesFrom[self]) {
    arguments.refuse(fmt::format("inputSplits[{0}] is {1} bytes and outputSplits[{0}] is {2}; "
                                 "what this rank sends to itself must have one size",
                                 rank(), call.bytesTo[self], call.bytesFrom[self]));
  }
  auto body = [output, input](Flight& flight, Scratch&) {
    const Staged from(input, true);
    Staged to(output, false);
    gloo::alltoall(flight, cut(to.block(), flight.call.bytesFrom),
                   cut(from.block(), flight.call.bytesTo));
    to.copyBack();
  };
  return parts_->dispatcher.submit(std::move(call), {std::move(output)}, limit(options),
                                   std::move(body));
}

ProcessGroup::WorkPtr ProcessGroupGloo::send(at::Tensor tensor, int to, int tag,
                                             const CallOptions& options) {
  const Arguments arguments(kName, Operation::kSend, size());
  arguments.tensor(tensor, "tensor");
  arguments.peer(to, rank(), "to");
  arguments.timeout(options.timeout);
  if (tag < 0) {
    arguments.refuse(fmt::format("tag is {}; it must not be negative", tag));
  }
  Call call = makeCall(Operation::kSend, {tensor}, options, to);
  return parts_->pointToPoint.send(std::move(call), std::move(tensor), tag, limit(options));
}

ProcessGroup::WorkPtr ProcessGroupGloo::recv(at::Tensor tensor, int from, int tag,
                                             const CallOptions& options) {
  const Arguments arguments(kName, Operation::kRecv, size());
  arguments.tensor(tensor, "tensor");
  if (from != kAnySource) {
    arguments.peer(from, rank(), "from");
  } else if (size() == 1) {
    arguments.refuse("from is any source, and there is no other rank in a group of one");
  }
  arguments.timeout(options.timeout);
  if (tag < 0) {
    arguments.refuse(fmt::format("tag is {}; it must not be negative", tag));
  }
  Call call = makeCall(Operation::kRecv, {tensor}, options, from);
  return parts_->pointToPoint.receive(std::move(call), std::move(tensor), tag, limit(options));
}

ProcessGroup::WorkPtr ProcessGroupGloo::barrier(const CallOptions& options) {
  const Arguments arguments(kName, Operation::kBarrier, size());
  arguments.timeout(options.timeout);
  gloo::Dispatcher& dispatcher = parts_->dispatcher;
  return dispatcher.submit(makeCall(Operation::kBarrier, {}, options), {}, limit(options),
                           [&dispatcher](Flight& flight, Scratch&) {
                             dispatcher.waitForEarlier(flight);
                             if (flight.size > 1) {
                               gloo::barrier(flight);
                             }
                           });
}

}  // namespace lockstep::process_group
