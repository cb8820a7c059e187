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

void broadcast(Launch& launch, const Tensors& tensors) {
  launch.reads = launch.writes = operands(tensors);
  launch.body = [all = launch.reads, root = launch.call.root](Channel& channel) {
    for (const Operand& operand : all) {
      // Bytes: nothing is computed, so the dtype does not matter, and NCCL need not have it.
      channel.communicator->broadcast(operand.data(), operand.bytes(), at::kByte, root,
                                      channel.stream);
    }
  };
}

void allreduce(Launch& launch, const Tensors& tensors) {
  const at::ScalarType type = reducedType(launch.call);
  launch.reads = launch.writes = operands(tensors);
  launch.body = [all = launch.reads, type, op = launch.call.reduce](Channel& channel) {
    for (const Operand& operand : all) {
      channel.communicator->allreduce(operand.data(), operand.count(), type, op, channel.stream);
    }
  };
}

void reduce(Launch& launch, const at::Tensor& tensor, int rank) {
  const at::ScalarType type = reducedType(launch.call);
  const Operand all(tensor);
  const int root = launch.call.root;
  launch.reads = {all};
  // Only the root's tensor is written to.
  if (rank == root) {
    launch.writes = {all};
  }
  launch.body = [all, type, op = launch.call.reduce, root](Channel& channel) {
    channel.communicator->reduce(all.data(), all.data(), all.count(), type, op, root,
                                 channel.stream);
  };
}

void allgather(Launch& launch, const Tensors& outputs, const at::Tensor& input) {
  const Operand from(input);
  const Operand to(outputs);
  launch.reads = {from};
  launch.writes = {to};
  launch.body = [from, to](Channel& channel) {
    channel.communicator->allgather(from.data(), to.data(), from.bytes(), at::kByte,
                                    channel.stream);
  };
}

void message(Channel& channel, const Operand& operand, int peer, bool sends) {
  if (sends) {
    channel.communicator->send(operand.data(), operand.bytes(), at::kByte, peer, channel.stream);
  } else {
    channel.communicator->recv(operand.data(), operand.bytes(), at::kByte, peer, channel.stream);
  }
}

// A gather or scatter: `one` is this rank's tensor, `parts` the root's, one a rank.
void betweenRootAndAll(Launch& launch, const at::Tensor& one, const Tensors& parts, int rank) {
  const bool gathers = launch.call.operation == Operation::kGather;
  const Operand single(one);
  const std::vector<Operand> all = operands(parts);
  (gathers ? launch.reads : launch.writes) = {single};
  (gathers ? launch.writes : launch.reads) = all;
  const auto own = static_cast<std::size_t>(rank);
  launch.before = [single, all, own, gathers] {
    // The root's own part is no message: a copy on the device does it.
    if (!all.empty() && all[own].data() != single.data()) {
      const Operand& from = gathers ? single : all[own];
      const Operand& to = gathers ? all[own] : single;
      to.flat().copy_(from.flat(), /*non_blocking=*/true);
    }
  };
  launch.body = [single, all, own, gathers, root = launch.call.root](Channel& channel) {
    if (all.empty()) {
      message(channel, single, root, gathers);
    }
    for (std::size_t other = 0; other < all.size(); ++other) {
      if (other != own) {
        message(channel, all[other], static_cast<int>(other), !gathers);
      }
    }
  };
}

void reduceScatter(Launch& launch, const at::Tensor& output, const Tensors& inputs) {
  const at::ScalarType type = reducedType(launch.call);
  const Operand to(output);
  const Operand from(inputs);
  launch.reads = {from};
  launch.writes = {to};
  launch.body = [from, to, type, op = launch.call.reduce](Channel& channel) {
    channel.communicator->reduceScatter(from.data(), to.data(), to.count(), type, op,
                                        channel.stream);
  };
}

void alltoall(Launch& launch, const Request& request, int rank) {
  const at::Tensor& output = request.outputs.front();
  const at::Tensor& input = request.inputs.front();
  // What is sent must not be what is received into: NCCL moves both at the same time.
  const Operand from(input);
  const Operand to(output);
  const at::Tensor sent = output.is_alias_of(input) ? at::empty_like(from.flat()) : from.flat();
  launch.reads = {from};
  launch.writes = {to};
  launch.tensors.push_back(sent);
  const auto own = static_cast<std::size_t>(rank);
  launch.before = [from, to, sent, inputSplits = request.inputSplits,
                   outputSplits = request.outputSplits, own] {
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
}

// A send or recv; the sender is rank 0 of the pair's communicator, the receiver rank 1.
void direct(Launch& launch, const Request& request, int rank) {
  const bool sends = launch.call.operation == Operation::kSend;
  const int peer = launch.call.root;
  const bool ofAny = !sends && peer == ProcessGroup::kAnySource;
  if (request.tag != 0 || ofAny) {
    throw std::invalid_argument(
        fmt::format("{}: {}", placeOf(launch.call.operation),
                    request.tag != 0 ? fmt::format("tag is {}; NCCL has none but 0", request.tag)
                                     : std::string("from is any rank; NCCL must be told which")));
  }
  const Operand operand(request.outputs.front());
  (sends ? launch.reads : launch.writes) = {operand};
  launch.pair = sends ? std::pair(rank, peer) : std::pair(peer, rank);
  launch.body = [operand, sends](Channel& channel) {
    message(channel, operand, sends ? 1 : 0, sends);
  };
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
  launch.tensors = outputs;
  launch.tensors.insert(launch.tensors.end(), inputs.begin(), inputs.end());
  switch (request.call.operation) {
    case Operation::kBroadcast: return broadcast(launch, outputs);
    case Operation::kAllreduce: return allreduce(launch, outputs);
    case Operation::kReduce: return reduce(launch, outputs.front(), rank);
    case Operation::kAllgather: return allgather(launch, outputs, inputs.front());
    case Operation::kGather: return betweenRootAndAll(launch, inputs.front(), outputs, rank);
    case Operation::kScatter: return betweenRootAndAll(launch, outputs.front(), inputs, rank);
    case Operation::kReduceScatter: return reduceScatter(launch, outputs.front(), inputs);
    case Operation::kAlltoall: return alltoall(launch, request, rank);
    case Operation::kSend:
    case Operation::kRecv: return direct(launch, request, rank);
    default: LOCKSTEP_CHECK(false, "nccl has no {}", trace::name(request.call.operation));
  }
}

class ProcessGroupNCCL final : public BackendGroup<Watchdog> {
 public:
  ProcessGroupNCCL(const std::shared_ptr<nccl::Devices>& devices,
                   const std::shared_ptr<Launcher>& launcher, const GroupOptions& options)
      : BackendGroup(std::shared_ptr<Watchdog>(launcher, &launcher->watchdog()), "nccl", kNCCLName,
                     options, ProcessGroup::Devices::kAny),
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
  return std::shared_ptr<ProcessGroup>(
      std::make_shared<nccl::ProcessGroupNCCL>(platform.devices, launcher, options));
}

}  // namespace lockstep::process_group
