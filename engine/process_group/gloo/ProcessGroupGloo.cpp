#include "engine/process_group/gloo/ProcessGroupGloo.h"

#include <cstring>

#include "engine/base/Check.h"
#include "engine/process_group/Request.h"
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
using Tensors = std::vector<at::Tensor>;

namespace {

constexpr const char* kGlooName = "ProcessGroupGloo";

Kernel kernelFor(const at::Tensor& tensor, ReduceOp op) {
  return Kernel{reduction::combiner(tensor.scalar_type(), op),
                static_cast<std::size_t>(tensor.element_size())};
}

// Cuts a block along dimension 0 of its tensor.
std::vector<Block> cut(Block block, const std::vector<std::uint64_t>& bytes) {
  std::vector<Block> parts;
  for (const std::uint64_t part : bytes) {
    parts.push_back(Block{block.data, part});
    block.data += part;
  }
  return parts;
}

void broadcast(Flight& flight, const Tensors& tensors) {
  const bool atRoot = flight.rank == flight.call.root;
  StagedList staged(tensors, atRoot);
  gloo::broadcast(flight, staged.blocks(), flight.call.root);
  if (!atRoot) {
    staged.copyBack();
  }
}

void allreduce(Flight& flight, Scratch& scratch, const Tensors& tensors) {
  Coalesced flat(tensors);
  gloo::allreduce(flight, scratch, flat.block(), kernelFor(tensors[0], flight.call.reduce));
  flat.copyBack();
}

void reduce(Flight& flight, Scratch& scratch, const at::Tensor& tensor) {
  Staged staged(tensor, true);
  gloo::reduce(flight, scratch, staged.block(), kernelFor(tensor, flight.call.reduce),
               flight.call.root);
  if (flight.rank == flight.call.root) {
    staged.copyBack();
  }
}

void gather(Flight& flight, const Tensors& outputs, const at::Tensor& input) {
  const Staged from(input, true);
  StagedList to(outputs, false);
  if (flight.call.operation == Operation::kAllgather) {
    gloo::allgather(flight, to.blocks(), from.block());
  } else {
    gloo::gather(flight, to.blocks(), from.block(), flight.call.root);
  }
  to.copyBack();
}

void scatter(Flight& flight, const at::Tensor& output, const Tensors& inputs) {
  const StagedList from(inputs, true);
  Staged to(output, false);
  gloo::scatter(flight, to.block(), from.blocks(), flight.call.root);
  to.copyBack();
}

void reduceScatter(Flight& flight, Scratch& scratch, const at::Tensor& output,
                   const Tensors& inputs) {
  const StagedList from(inputs, true);
  Staged to(output, false);
  const Block result = to.block();
  if (flight.size > 1) {
    gloo::reduceScatter(flight, scratch, result, from.blocks(),
                        kernelFor(output, flight.call.reduce));
  } else if (result.bytes != 0 && result.data != from.blocks()[0].data) {
    std::memcpy(result.data, from.blocks()[0].data, result.bytes);
  }
  to.copyBack();
}

void alltoall(Flight& flight, const at::Tensor& output, const at::Tensor& input) {
  const Staged from(input, true);
  Staged to(output, false);
  gloo::alltoall(flight, cut(to.block(), flight.call.bytesFrom),
                 cut(from.block(), flight.call.bytesTo));
  to.copyBack();
}

// What a worker does for a collective.
void carryOut(Flight& flight, Scratch& scratch, const Tensors& outputs, const Tensors& inputs) {
  if (flight.size == 1 && inputs.empty()) {
    return;  // in place, or a barrier
  }
  switch (flight.call.operation) {
    case Operation::kBroadcast: return broadcast(flight, outputs);
    case Operation::kAllreduce: return allreduce(flight, scratch, outputs);
    case Operation::kReduce: return reduce(flight, scratch, outputs.front());
    case Operation::kAllgather:
    case Operation::kGather: return gather(flight, outputs, inputs.front());
    case Operation::kScatter: return scatter(flight, outputs.front(), inputs);
    case Operation::kReduceScatter:
      return reduceScatter(flight, scratch, outputs.front(), inputs);
    case Operation::kAlltoall: return alltoall(flight, outputs.front(), inputs.front());
    case Operation::kBarrier: return gloo::barrier(flight);
    default: LOCKSTEP_CHECK(false, "gloo has no {}", trace::name(flight.call.operation));
  }
}

}  // namespace

struct ProcessGroupGloo::Parts {
  Parts(std::unique_ptr<gloo::Transport> connected, const Member& member,
        std::shared_ptr<store::Store> store)
      : transport(std::move(connected)),
        dispatcher(member, *transport, std::move(store)),
        pointToPoint(dispatcher, *transport) {}
  ~Parts() {
    dispatcher.drain();
    if (dispatcher.state() == GroupState::kSuccess) {
      transport->sayFarewell();
    } else {
      transport->close();
    }
  }

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
  connection.timeout = timeLimit(kNoTimeout, options.timeout);
  auto transport = gloo::Transport::connect(*store, connection);
  if (!transport.ok()) {
    return transport.error();
  }
  auto parts = std::make_unique<Parts>(std::move(transport).value(), Member(rank, size, options),
                                       std::move(store));
  return std::shared_ptr<ProcessGroupGloo>(
      new ProcessGroupGloo(std::move(parts), rank, size, options));
}

ProcessGroupGloo::ProcessGroupGloo(std::unique_ptr<Parts> parts, int rank, int size,
                                   const GroupOptions& options)
    : ProcessGroup(rank, size, options.groupName, kGlooName, Devices::kCpu, options.timeout),
      parts_(std::move(parts)) {}

ProcessGroupGloo::~ProcessGroupGloo() = default;

std::uint64_t ProcessGroupGloo::sequenceNumber() const { return parts_->dispatcher.sequence(); }

void ProcessGroupGloo::abort(const std::string& reason) {
  parts_->dispatcher.breakGroup(Failure{"aborted: " + reason, -1, CommErrorKind::kAborted});
}

GroupState ProcessGroupGloo::state() const { return parts_->dispatcher.state(); }

ProcessGroup::WorkPtr ProcessGroupGloo::start(Request request) {
  const milliseconds limit = timeLimit(request.call.options, *this);
  gloo::PointToPoint& direct = parts_->pointToPoint;
  if (request.call.operation == Operation::kSend) {
    return direct.send(std::move(request.call), std::move(request.outputs.front()), request.tag,
                       limit);
  }
  if (request.call.operation == Operation::kRecv) {
    return direct.receive(std::move(request.call), std::move(request.outputs.front()), request.tag,
                          limit);
  }
  gloo::Dispatcher& dispatcher = parts_->dispatcher;
  return dispatcher.submit(std::move(request.call), request.outputs, limit,
                           [&dispatcher, outputs = request.outputs, inputs = request.inputs](
                               Flight& flight, Scratch& scratch) {
                             if (flight.call.operation == Operation::kBarrier) {
                               dispatcher.waitForEarlier(flight);
                             }
                             carryOut(flight, scratch, outputs, inputs);
                           });
}

}  // namespace lockstep::process_group
