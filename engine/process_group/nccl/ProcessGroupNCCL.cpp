#include "engine/process_group/nccl/ProcessGroupNCCL.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "engine/base/Check.h"
#include "engine/process_group/Failure.h"
#include "engine/process_group/nccl/Launcher.h"
#include "engine/process_group/nccl/Operand.h"
#include "engine/process_group/operation/BackendGroup.h"

namespace lockstep::process_group {
namespace nccl {
namespace {

using trace::Operation;
using Tensors = std::vector<at::Tensor>;

constexpr const char* kNCCLName = "ProcessGroupNCCL";

std::string placeOf(Operation operation) {
  return fmt::format("{}::{}", kNCCLName, trace::name(operation));
}

at::ScalarType reducedType(const Call& call) {
  return process_group::nccl::reducedType(placeOf(call.operation), call.dtype, call.reduce);
}

// Work on the memory of the tensors as it lies: it is filled before and emptied after.
void inPlace(Launch& launch, const Tensors& tensors) {
  launch.operands = operands(tensors);
  launch.tensors = tensors;
  // Copies of tensors that are not contiguous go on the channel's stream, before and after.
  launch.before = [all = launch.operands] {
    for (const Operand& operand : all) {
      operand.fill();
    }
  };
  launch.after = [all = launch.operands] {
    for (const Operand& operand : all) {
      operand.empty();
    }
  };
}

void broadcast(Launch& launch, const Tensors& tensors) {
  inPlace(launch, tensors);
  launch.body = [all = launch.operands, root = launch.call.root](Channel& channel) {
    for (const Operand& operand : all) {
      // Bytes: nothing is computed, so the dtype does not matter, and NCCL need not have it.
      channel.communicator->broadcast(operand.data(), operand.bytes(), at::kByte, root,
                                      channel.stream);
    }
  };
}

void allreduce(Launch& launch, const Tensors& tensors) {
  const at::ScalarType type = reducedType(launch.call);
  inPlace(launch, tensors);
  launch.body = [all = launch.operands, type, op = launch.call.reduce](Channel& channel) {
    for (const Operand& operand : all) {
      channel.communicator->allreduce(operand.data(), operand.count(), type, op, channel.stream);
    }
  };
}

void reduce(Launch& launch, const Tensors& tensors, int rank) {
  const at::ScalarType type = reducedType(launch.call);
  inPlace(launch, tensors);
  const int root = launch.call.root;
  launch.body = [all = launch.operands.front(), type, op = launch.call.reduce,
                 root](Channel& channel) {
    channel.communicator->reduce(all.data(), all.data(), all.count(), type, op, root,
                                 channel.stream);
  };
  // Only the root's tensor is written to.
  if (rank != root) {
    launch.after = nullptr;
  }
}

void allgather(Launch& launch, const Tensors& outputs, const at::Tensor& input) {
  const Operand from(input);
  const Row to(outputs);
  launch.operands = {from};
  launch.tensors = outputs;
  launch.tensors.push_back(input);
  // The copy is memory that the device works on, and is kept with the tensors.
  if (to.copy().defined()) {
    launch.tensors.push_back(to.copy());
  }
  launch.before = [from] { from.fill(); };
  launch.body = [from, to](Channel& channel) {
    channel.communicator->allgather(from.data(), to.data(), from.bytes(), at::kByte,
                                    channel.stream);
  };
  launch.after = [to] { to.empty(); };
}

void gather(Launch& launch, const Tensors& outputs, const at::Tensor& input, int rank) {
  const Operand from(input);
  const std::vector<Operand> to = operands(outputs);
  launch.operands = to;
  launch.operands.push_back(from);
  launch.tensors = outputs;
  launch.tensors.push_back(input);
  const auto own = static_cast<std::size_t>(rank);
  launch.before = [from, to, own] {
    from.fill();
    // This rank's own part is no message: a copy on the device does it.
    if (!to.empty() && to[own].data() != from.data()) {
      to[own].flat().copy_(from.flat(), /*non_blocking=*/true);
    }
  };
  launch.body = [from, to, own, root = launch.call.root](Channel& channel) {
    if (to.empty()) {
      channel.communicator->send(from.data(), from.bytes(), at::kByte, root, channel.stream);
      return;
    }
    for (std::size_t other = 0; other < to.size(); ++other) {
      if (other != own) {
        channel.communicator->recv(to[other].data(), to[other].bytes(), at::kByte,
                                   static_cast<int>(other), channel.stream);
      }
    }
  };
  launch.after = [to] {
    for (const Operand& operand : to) {
      operand.empty();
    }
  };
}

void scatter(Launch& launch, const at::Tensor& output, const Tensors& inputs, int rank) {
  const Operand to(output);
  const std::vector<Operand> from = operands(inputs);
  launch.operands = from;
  launch.operands.push_back(to);
  launch.tensors = inputs;
  launch.tensors.push_back(output);
  const auto own = static_cast<std::size_t>(rank);
  launch.before = [from, to, own] {
    for (const Operand& operand : from) {
      operand.fill();
    }
    if (!from.empty() && from[own].data() != to.data()) {
      to.flat().copy_(from[own].flat(), /*non_blocking=*/true);
    }
  };
  launch.body = [from, to, own, root = launch.call.root](Channel& channel) {
    if (from.empty()) {
      channel.communicator->recv(to.data(), to.bytes(), at::kByte, root, channel.stream);
      return;
    }
    for (std::size_t other = 0; other < from.size(); ++other) {
      if (other != own) {
        channel.communicator->send(from[other].data(), from[other].bytes(), at::kByte,
                                   static_cast<int>(other), channel.stream);
      }
    }
  };
  launch.after = [to] { to.empty(); };
}

void reduceScatter(Launch& launch, const at::Tensor& output, const Tensors& inputs) {
  const at::ScalarType type = reducedType(launch.call);
  const Operand to(output);
  const Row from(inputs);
  launch.operands = {to};
  launch.tensors = inputs;
  launch.tensors.push_back(output);
  if (from.copy().defined()) {
    launch.tensors.push_back(from.copy());
  }
  launch.before = [from] { from.fill(); };
  launch.body = [from, to, type, op = launch.call.reduce](Channel& channel) {
    channel.communicator->reduceScatter(from.data(), to.data(), to.count(), type, op,
                                        channel.stream);
  };
  launch.after = [to] { to.empty(); };
}

void alltoall(Launch& launch, const Request& request, int rank) {
  const at::Tensor& output = request.outputs.front();
  const at::Tensor& input = request.inputs.front();
  // What is sent must not be what is received into: NCCL moves both at the same time.
  const Operand from(input);
  const Operand to(output);
  const at::Tensor sent = output.is_alias_of(input) ? at::empty_like(from.flat()) : from.flat();
  launch.operands = {to, from};
  launch.tensors = {output, input, sent};
  const auto own = static_cast<std::size_t>(rank);
  launch.before = [from, to, sent, inputSplits = request.inputSplits,
                   outputSplits = request.outputSplits, own] {
    from.fill();
    if (!sent.is_same(from.flat())) {
      sent.copy_(from.flat(), /*non_blocking=*/true);
    }
    std::int64_t source = 0;
    std::int64_t target = 0;
    for (std::size_t i = 0; i < own; ++i) {
      source += inputSplits[i];
      target += outputSplits[i];
    }
    to.flat()
        .narrow(0, target, outputSplits[own])
        .copy_(sent.narrow(0, source, inputSplits[own]), /*non_blocking=*/true);
  };
  launch.body = [to, sent, bytesTo = launch.call.bytesTo, bytesFrom = launch.call.bytesFrom,
                 own](Channel& channel) {
    const auto* source = static_cast<const std::byte*>(sent.data_ptr());
    auto* target = static_cast<std::byte*>(to.data());
    for (std::size_t other = 0; other < bytesTo.size(); ++other) {
      const int peer = static_cast<int>(other);
      // Nothing is sent where nothing is expected: both sides leave the message out.
      if (other != own && bytesTo[other] > 0) {
        channel.communicator->send(source, bytesTo[other], at::kByte, peer, channel.stream);
      }
      if (other != own && bytesFrom[other] > 0) {
        channel.communicator->recv(target, bytesFrom[other], at::kByte, peer, channel.stream);
      }
      source += bytesTo[other];
      target += bytesFrom[other];
    }
  };
  launch.after = [to] { to.empty(); };
}

void send(Launch& launch, const Request& request, int rank) {
  if (request.tag != 0) {
    throw std::invalid_argument(fmt::format("{}: tag is {}; NCCL has none but 0",
                                            placeOf(launch.call.operation), request.tag));
  }
  const Operand from(request.outputs.front());
  launch.operands = {from};
  launch.tensors = request.outputs;
  // The sender is rank 0 of the pair's communicator, the receiver rank 1.
  launch.pair = {rank, launch.call.root};
  launch.before = [from] { from.fill(); };
  launch.body = [from](Channel& channel) {
    channel.communicator->send(from.data(), from.bytes(), at::kByte, 1, channel.stream);
  };
}

void recv(Launch& launch, const Request& request, int rank) {
  const int from = launch.call.root;
  if (request.tag != 0 || from == ProcessGroup::kAnySource) {
    throw std::invalid_argument(
        fmt::format("{}: {}", placeOf(launch.call.operation),
                    request.tag != 0 ? fmt::format("tag is {}; NCCL has none but 0", request.tag)
                                     : std::string("from is any rank; NCCL must be told which")));
  }
  const Operand to(request.outputs.front());
  launch.operands = {to};
  launch.tensors = request.outputs;
  launch.pair = {from, rank};
  launch.body = [to](Channel& channel) {
    channel.communicator->recv(to.data(), to.bytes(), at::kByte, 0, channel.stream);
  };
  launch.after = [to] { to.empty(); };
}

// `token` is memory of one byte.
void meet(Launch& launch, const at::Tensor& token) {
  launch.tensors = {token};
  // On the device, so that it comes after what the stream holds.
  launch.before = [token] { token.zero_(); };
  launch.body = [token](Channel& channel) {
    channel.communicator->allreduce(token.data_ptr(), 1, at::kByte, ReduceOp::kMax, channel.stream);
  };
}

// What the device does for any call but a barrier.
void prepare(Launch& launch, const Request& request, int rank) {
  const Tensors& outputs = request.outputs;
  const Tensors& inputs = request.inputs;
  switch (request.call.operation) {
    case Operation::kBroadcast: return broadcast(launch, outputs);
    case Operation::kAllreduce: return allreduce(launch, outputs);
    case Operation::kReduce: return reduce(launch, outputs, rank);
    case Operation::kAllgather: return allgather(launch, outputs, inputs.front());
    case Operation::kGather: return gather(launch, outputs, inputs.front(), rank);
    case Operation::kScatter: return scatter(launch, outputs.front(), inputs, rank);
    case Operation::kReduceScatter: return reduceScatter(launch, outputs.front(), inputs);
    case Operation::kAlltoall: return alltoall(launch, request, rank);
    case Operation::kSend: return send(launch, request, rank);
    case Operation::kRecv: return recv(launch, request, rank);
    default: LOCKSTEP_CHECK(false, "nccl has no {}", trace::name(request.call.operation));
  }
}

class ProcessGroupNCCL final : public BackendGroup<Watchdog> {
 public:
  ProcessGroupNCCL(const std::shared_ptr<nccl::Devices>& devices,
                   const std::shared_ptr<Launcher>& launcher, int rank, int size,
                   const GroupOptions& options)
      : BackendGroup(std::shared_ptr<Watchdog>(launcher, &launcher->watchdog()), "nccl", kNCCLName,
                     rank, size, options, ProcessGroup::Devices::kAny),
        devices_(devices),
        launcher_(launcher) {}

  at::Tensor allocate(std::int64_t bytes) override {
    const c10::Device device(devices_->type(), devices_->current());
    return at::empty({bytes}, at::TensorOptions(at::kByte).device(device));
  }

 protected:
  WorkPtr start(Request request) override {
    Launch launch;
    launch.call = request.call;
    launch.limit = limitOf(request);
    if (request.call.operation == Operation::kBarrier) {
      meet(launch, allocate(1));
    } else {
      prepare(launch, request, rank());
    }
    launch.outputs = std::move(request.outputs);
    return launcher_->launch(std::move(launch));
  }

 private:
  const std::shared_ptr<nccl::Devices> devices_;
  const std::shared_ptr<Launcher> launcher_;
};

}  // namespace
}  // namespace nccl

base::Result<std::shared_ptr<ProcessGroup>> makeNccl(nccl::Platform platform,
                                                     std::shared_ptr<store::Store> store, int rank,
                                                     int size, const GroupOptions& options) {
  try {
    // Asked now: the first operation would otherwise find out that there is none.
    (void)platform.devices->at(platform.devices->current());
  } catch (const nccl::DeviceError& error) {
    return base::Error{base::ExitCode::kEnvironment,
                       fmt::format("backend \"nccl\": there is no GPU to work on ({}); take "
                                   "\"gloo\" or \"auto\", which need none",
                                   error.what()),
                       ""};
  }
  const auto launcher = std::make_shared<nccl::Launcher>(
      nccl::kNCCLName, Member(rank, size, options), platform.devices, platform.library, store);
  return std::shared_ptr<ProcessGroup>(std::make_shared<nccl::ProcessGroupNCCL>(
      platform.devices, launcher, rank, size, options));
}

}  // namespace lockstep::process_group
