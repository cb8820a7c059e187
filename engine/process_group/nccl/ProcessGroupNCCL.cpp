#include "engine/process_group/nccl/ProcessGroupNCCL.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "engine/process_group/CallMaker.h"
#include "engine/process_group/Failure.h"
#include "engine/process_group/nccl/Launcher.h"
#include "engine/process_group/nccl/Operand.h"

namespace lockstep::process_group {

using nccl::Channel;
using nccl::Launch;
using nccl::Operand;
using nccl::Row;
using std::chrono::milliseconds;

namespace {

constexpr const char* kNCCLName = "ProcessGroupNCCL";

std::string placeOf(trace::Operation operation) {
  return fmt::format("{}::{}", kNCCLName, trace::name(operation));
}

}  // namespace

struct ProcessGroupNCCL::Parts {
  Parts(const Platform& platform, const std::shared_ptr<store::Store>& store, int rank, int size,
        const GroupOptions& options)
      : calls(kNCCLName, rank, size, CallMaker::Devices::kAny),
        devices(platform.devices),
        launcher({kNCCLName, options.groupName, rank, size, options.groupNumber, options.tracer},
                 platform.devices, platform.library, store) {}

  const CallMaker calls;
  const std::shared_ptr<nccl::Devices> devices;
  nccl::Launcher launcher;
};

base::Result<std::shared_ptr<ProcessGroupNCCL>> ProcessGroupNCCL::make(
    Platform platform, std::shared_ptr<store::Store> store, int rank, int size,
    const GroupOptions& options) {
  try {
    (void)platform.devices->at(platform.devices->current());
  } catch (const nccl::DeviceError& error) {
    return base::Error{base::ExitCode::kEnvironment,
                       fmt::format("backend \"nccl\": there is no GPU to work on ({}); take "
                                   "\"gloo\" or \"auto\", which need none",
                                   error.what()),
                       ""};
  }
  auto parts = std::make_unique<Parts>(platform, store, rank, size, options);
  return std::shared_ptr<ProcessGroupNCCL>(
      new ProcessGroupNCCL(std::move(parts), rank, size, options));
}

ProcessGroupNCCL::ProcessGroupNCCL(std::unique_ptr<Parts> parts, int rank, int size,
                                   const GroupOptions& options)
    : ProcessGroup(rank, size, options.groupName),
      timeout_(options.timeout),
      parts_(std::move(parts)) {}

ProcessGroupNCCL::~ProcessGroupNCCL() = default;

std::uint64_t ProcessGroupNCCL::sequenceNumber() const {
  return parts_->launcher.watchdog().sequence();
}

GroupState ProcessGroupNCCL::state() const {
  return parts_->launcher.watchdog().state();
}

void ProcessGroupNCCL::setTimeout(milliseconds timeout) {
  if (timeout.count() <= 0) {
    throw std::invalid_argument(fmt::format("{}::setTimeout: timeout is {} ms; it must be positive",
                                            kNCCLName, timeout.count()));
  }
  timeout_.store(timeout);
}

void ProcessGroupNCCL::abort(const std::string& reason) {
  parts_->launcher.watchdog().breakGroup(
      Failure{"aborted: " + reason, -1, CommErrorKind::kAborted});
}

at::Tensor ProcessGroupNCCL::allocate(std::int64_t bytes) {
  const c10::Device device(parts_->devices->type(), parts_->devices->current());
  return at::empty({bytes}, at::TensorOptions(at::kByte).device(device));
}

ProcessGroup::WorkPtr ProcessGroupNCCL::launch(Launch launch, const CallOptions& options) {
  launch.limit = timeLimit(options, *this);
  return parts_->launcher.launch(std::move(launch));
}

ProcessGroup::WorkPtr ProcessGroupNCCL::broadcast(std::vector<at::Tensor> tensors, int root,
                                                  const CallOptions& options) {
  Launch launch;
  launch.call = parts_->calls.broadcast(tensors, root, options);
  launch.operands = nccl::operands(tensors);
  launch.outputs = launch.tensors = std::move(tensors);
  launch.before = [all = launch.operands] {
    for (const Operand& operand : all) {
      operand.fill();
    }
  };
  launch.body = [all = launch.operands, root](Channel& channel) {
    for (const Operand& operand : all) {
      channel.communicator->broadcast(operand.data(), operand.bytes(), at::kByte, root,
                                      channel.stream);
    }
  };
  launch.after = [all = launch.operands] {
    for (const Operand& operand : all) {
      operand.empty();
    }
  };
  return this->launch(std::move(launch), options);
}

ProcessGroup::WorkPtr ProcessGroupNCCL::allreduce(std::vector<at::Tensor> tensors, ReduceOp op,
                                                  const CallOptions& options) {
  Launch launch;
  launch.call = parts_->calls.allreduce(tensors, op, options);
  const at::ScalarType type =
      nccl::reducedType(placeOf(launch.call.operation), launch.call.dtype, op);
  launch.operands = nccl::operands(tensors);
  launch.outputs = launch.tensors = std::move(tensors);
  launch.before = [all = launch.operands] {
    for (const Operand& operand : all) {
      operand.fill();
    }
  };
  launch.body = [all = launch.operands, type, op](Channel& channel) {
    for (const Operand& operand : all) {
      channel.communicator->allreduce(operand.data(), operand.count(), type, op, channel.stream);
    }
  };
  launch.after = [all = launch.operands] {
    for (const Operand& operand : all) {
      operand.empty();
    }
  };
  return this->launch(std::move(launch), options);
}

ProcessGroup::WorkPtr ProcessGroupNCCL::reduce(at::Tensor tensor, int root, ReduceOp op,
                                               const CallOptions& options) {
  Launch launch;
  launch.call = parts_->calls.reduce(tensor, root, op, options);
  const at::ScalarType type =
      nccl::reducedType(placeOf(launch.call.operation), launch.call.dtype, op);
  launch.operands = nccl::operands({tensor});
  launch.outputs = launch.tensors = {tensor};
  const Operand all = launch.operands.front();
  launch.before = [all] { all.fill(); };
  launch.body = [all, type, op, root](Channel& channel) {
    channel.communicator->reduce(all.data(), all.data(), all.count(), type, op, root,
                                 channel.stream);
  };
  if (rank() == root) {
    launch.after = [all] { all.empty(); };
  }
  return this->launch(std::move(launch), options);
}

ProcessGroup::WorkPtr ProcessGroupNCCL::allgather(std::vector<at::Tensor> outputs, at::Tensor input,
                                                  const CallOptions& options) {
  Launch launch;
  launch.call = parts_->calls.allgather(outputs, input, options);
  const Operand from(input);
  const Row to(outputs);
  launch.operands = {from};
  launch.tensors = outputs;
  launch.tensors.push_back(std::move(input));
  if (to.copy().defined()) {
    launch.tensors.push_back(to.copy());
  }
  launch.outputs = std::move(outputs);
  launch.before = [from] { from.fill(); };
  launch.body = [from, to](Channel& channel) {
    channel.communicator->allgather(from.data(), to.data(), from.bytes(), at::kByte,
                                    channel.stream);
  };
  launch.after = [to] { to.empty(); };
  return this->launch(std::move(launch), options);
}

ProcessGroup::WorkPtr ProcessGroupNCCL::gather(std::vector<at::Tensor> outputs, at::Tensor input,
                                               int root, const CallOptions& options) {
  Launch launch;
  launch.call = parts_->calls.gather(outputs, input, root, options);
  const Operand from(input);
  const std::vector<Operand> to = nccl::operands(outputs);
  launch.operands = to;
  launch.operands.push_back(from);
  launch.tensors = outputs;
  launch.tensors.push_back(std::move(input));
  launch.outputs = std::move(outputs);
  const auto own = static_cast<std::size_t>(rank());
  launch.before = [from, to, own] {
    from.fill();
    if (!to.empty() && to[own].data() != from.data()) {
      to[own].flat().copy_(from.flat(), /*non_blocking=*/true);
    }
  };
  launch.body = [from, to, own, root](Channel& channel) {
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
  return this->launch(std::move(launch), options);
}

ProcessGroup::WorkPtr ProcessGroupNCCL::scatter(at::Tensor output, std::vector<at::Tensor> inputs,
                                                int root, const CallOptions& options) {
  Launch launch;
  launch.call = parts_->calls.scatter(output, inputs, root, options);
  const Operand to(output);
  const std::vector<Operand> from = nccl::operands(inputs);
  launch.operands = from;
  launch.operands.push_back(to);
  launch.tensors = std::move(inputs);
  launch.tensors.push_back(output);
  launch.outputs = {std::move(output)};
  const auto own = static_cast<std::size_t>(rank());
  launch.before = [from, to, own] {
    for (const Operand& operand : from) {
      operand.fill();
    }
    if (!from.empty() && from[own].data() != to.data()) {
      to.flat().copy_(from[own].flat(), /*non_blocking=*/true);
    }
  };
  launch.body = [from, to, own, root](Channel& channel) {
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
  return this->launch(std::move(launch), options);
}

ProcessGroup::WorkPtr ProcessGroupNCCL::reduceScatter(at::Tensor output,
                                                      std::vector<at::Tensor> inputs, ReduceOp op,
                                                      const CallOptions& options) {
  Launch launch;
  launch.call = parts_->calls.reduceScatter(output, inputs, op, options);
  const at::ScalarType type =
      nccl::reducedType(placeOf(launch.call.operation), launch.call.dtype, op);
  const Operand to(output);
  const Row from(inputs);
  launch.operands = {to};
  launch.tensors = std::move(inputs);
  launch.tensors.push_back(output);
  if (from.copy().defined()) {
    launch.tensors.push_back(from.copy());
  }
  launch.outputs = {std::move(output)};
  launch.before = [from] { from.fill(); };
  launch.body = [from, to, type, op](Channel& channel) {
    channel.communicator->reduceScatter(from.data(), to.data(), to.count(), type, op,
                                        channel.stream);
  };
  launch.after = [to] { to.empty(); };
  return this->launch(std::move(launch), options);
}

ProcessGroup::WorkPtr ProcessGroupNCCL::alltoall(at::Tensor output, at::Tensor input,
                                                 std::vector<std::int64_t> outputSplits,
                                                 std::vector<std::int64_t> inputSplits,
                                                 const CallOptions& options) {
  Launch launch;
  launch.call = parts_->calls.alltoall(output, input, outputSplits, inputSplits, options);
  // What is sent must not be what is received into.
  const Operand from(input);
  const Operand to(output);
  const at::Tensor sent = output.is_alias_of(input) ? at::empty_like(from.flat()) : from.flat();
  launch.operands = {to, from};
  launch.tensors = {output, std::move(input), sent};
  launch.outputs = {std::move(output)};
  const auto bytesTo = launch.call.bytesTo;
  const auto bytesFrom = launch.call.bytesFrom;
  const auto own = static_cast<std::size_t>(rank());
  launch.before = [from, to, sent, inputSplits, outputSplits, own] {
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
  launch.body = [to, sent, bytesTo, bytesFrom, own](Channel& channel) {
    const auto* source = static_cast<const std::byte*>(sent.data_ptr());
    auto* target = static_cast<std::byte*>(to.data());
    for (std::size_t other = 0; other < bytesTo.size(); ++other) {
      const int peer = static_cast<int>(other);
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
  return this->launch(std::move(launch), options);
}

ProcessGroup::WorkPtr ProcessGroupNCCL::send(at::Tensor tensor, int to, int tag,
                                             const CallOptions& options) {
  Launch launch;
  launch.call = parts_->calls.send(tensor, to, tag, options);
  if (tag != 0) {
    throw std::invalid_argument(
        fmt::format("{}: tag is {}; NCCL has none but 0", placeOf(launch.call.operation), tag));
  }
  const Operand from(tensor);
  launch.operands = {from};
  launch.outputs = launch.tensors = {std::move(tensor)};
  launch.pair = {rank(), to};
  launch.before = [from] { from.fill(); };
  launch.body = [from](Channel& channel) {
    channel.communicator->send(from.data(), from.bytes(), at::kByte, 1, channel.stream);
  };
  return this->launch(std::move(launch), options);
}

ProcessGroup::WorkPtr ProcessGroupNCCL::recv(at::Tensor tensor, int from, int tag,
                                             const CallOptions& options) {
  Launch launch;
  launch.call = parts_->calls.recv(tensor, from, tag, options);
  if (tag != 0 || from == kAnySource) {
    throw std::invalid_argument(
        fmt::format("{}: {}", placeOf(launch.call.operation),
                    tag != 0 ? fmt::format("tag is {}; NCCL has none but 0", tag)
                             : std::string("from is any rank; NCCL must be told which")));
  }
  const Operand to(tensor);
  launch.operands = {to};
  launch.outputs = launch.tensors = {std::move(tensor)};
  launch.pair = {from, rank()};
  launch.body = [to](Channel& channel) {
    channel.communicator->recv(to.data(), to.bytes(), at::kByte, 0, channel.stream);
  };
  launch.after = [to] { to.empty(); };
  return this->launch(std::move(launch), options);
}

ProcessGroup::WorkPtr ProcessGroupNCCL::barrier(const CallOptions& options) {
  Launch launch;
  launch.call = parts_->calls.barrier(options);
  const at::Tensor token = allocate(1);
  launch.tensors = {token};
  launch.before = [token] { token.zero_(); };
  launch.body = [token](Channel& channel) {
    channel.communicator->allreduce(token.data_ptr(), 1, at::kByte, ReduceOp::kMax, channel.stream);
  };
  return this->launch(std::move(launch), options);
}

}  // namespace lockstep::process_group
