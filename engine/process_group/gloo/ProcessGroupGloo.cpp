#include "engine/process_group/gloo/ProcessGroupGloo.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "engine/process_group/CallMaker.h"
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

}  // namespace

struct ProcessGroupGloo::Parts {
  Parts(std::unique_ptr<gloo::Transport> connected, const gloo::Dispatcher::Options& options,
        std::shared_ptr<store::Store> store)
      : calls(kGlooName, options.rank, options.size),
        transport(std::move(connected)),
        dispatcher(options, *transport, std::move(store)),
        pointToPoint(dispatcher, *transport) {}
  ~Parts() {
    dispatcher.drain();
    if (dispatcher.state() == GroupState::kSuccess) {
      transport->sayFarewell();
    } else {
      transport->close();
    }
  }

  const CallMaker calls;
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
  gloo::Dispatcher::Options dispatch;
  dispatch.group = options.groupName;
  dispatch.rank = rank;
  dispatch.size = size;
  dispatch.threads = options.threads;
  dispatch.tracer = options.tracer;
  dispatch.wireCounter = options.wireCounter;
  dispatch.groupNumber = options.groupNumber;
  auto parts = std::make_unique<Parts>(std::move(transport).value(), dispatch, std::move(store));
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
  return timeLimit(options, *this);
}

std::uint64_t ProcessGroupGloo::sequenceNumber() const { return parts_->dispatcher.sequence(); }

void ProcessGroupGloo::setTimeout(milliseconds timeout) {
  if (timeout.count() <= 0) {
    throw std::invalid_argument(fmt::format(
        "{}::setTimeout: timeout is {} ms; it must be positive", kGlooName, timeout.count()));
  }
  timeout_.store(timeout);
}

void ProcessGroupGloo::abort(const std::string& reason) {
  parts_->dispatcher.breakGroup(Failure{"aborted: " + reason, -1, CommErrorKind::kAborted});
}

GroupState ProcessGroupGloo::state() const { return parts_->dispatcher.state(); }

ProcessGroup::WorkPtr ProcessGroupGloo::broadcast(std::vector<at::Tensor> tensors, int root,
                                                  const CallOptions& options) {
  Call call = parts_->calls.broadcast(tensors, root, options);
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
  Call call = parts_->calls.allreduce(tensors, op, options);
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
  Call call = parts_->calls.reduce(tensor, root, op, options);
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
  Call call = parts_->calls.allgather(outputs, input, options);
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
  Call call = parts_->calls.gather(outputs, input, root, options);
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
  Call call = parts_->calls.scatter(output, inputs, root, options);
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
  Call call = parts_->calls.reduceScatter(output, inputs, op, options);
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
  Call call = parts_->calls.alltoall(output, input, outputSplits, inputSplits, options);
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
  Call call = parts_->calls.send(tensor, to, tag, options);
  return parts_->pointToPoint.send(std::move(call), std::move(tensor), tag, limit(options));
}

ProcessGroup::WorkPtr ProcessGroupGloo::recv(at::Tensor tensor, int from, int tag,
                                             const CallOptions& options) {
  Call call = parts_->calls.recv(tensor, from, tag, options);
  return parts_->pointToPoint.receive(std::move(call), std::move(tensor), tag, limit(options));
}

ProcessGroup::WorkPtr ProcessGroupGloo::barrier(const CallOptions& options) {
  Call call = parts_->calls.barrier(options);
  gloo::Dispatcher& dispatcher = parts_->dispatcher;
  return dispatcher.submit(std::move(call), {}, limit(options),
                           [&dispatcher](Flight& flight, Scratch&) {
                             dispatcher.waitForEarlier(flight);
                             if (flight.size > 1) {
                               gloo::barrier(flight);
                             }
                           });
}

}  // namespace lockstep::process_group
