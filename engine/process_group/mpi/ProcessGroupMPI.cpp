#include "engine/process_group/mpi/ProcessGroupMPI.h"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/process_group/CallMaker.h"
#include "engine/process_group/mpi/Collectives.h"
#include "engine/process_group/mpi/Dispatcher.h"

namespace lockstep::process_group {

using std::chrono::milliseconds;

namespace {

constexpr const char* kMPIName = "ProcessGroupMPI";

}  // namespace

struct ProcessGroupMPI::Parts {
  Parts(const mpi::Dispatcher::Options& options, const mpi::Connected& connected)
      : calls(kMPIName, options.rank, options.size),
        place{options.rank, options.size},
        dispatcher(std::make_shared<mpi::Dispatcher>(options, connected)) {
    if (connected.runtime != nullptr) {
      connected.runtime->attach(dispatcher);
    }
  }
  ~Parts() { dispatcher->close(); }

  const CallMaker calls;
  const mpi::Place place;
  const std::shared_ptr<mpi::Dispatcher> dispatcher;  // the MPI thread has a share
};

base::Result<std::shared_ptr<ProcessGroupMPI>> ProcessGroupMPI::make(
    std::shared_ptr<store::Store> store, int rank, int size, const GroupOptions& options) {
  Joiner joiner;
  joiner.group = options.groupName;
  joiner.rank = rank;
  joiner.size = size;
  joiner.timeout = timeLimit(kNoTimeout, options.timeout);
  const auto connected = mpi::connect(*store, joiner);
  if (!connected.ok()) {
    return connected.error();
  }
  mpi::Dispatcher::Options dispatch;
  dispatch.group = options.groupName;
  dispatch.rank = rank;
  dispatch.size = size;
  dispatch.threads = options.threads;
  dispatch.tracer = options.tracer;
  dispatch.wireCounter = options.wireCounter;
  dispatch.groupNumber = options.groupNumber;
  return std::shared_ptr<ProcessGroupMPI>(new ProcessGroupMPI(
      std::make_unique<Parts>(dispatch, connected.value()), rank, size, options));
}

ProcessGroupMPI::ProcessGroupMPI(std::unique_ptr<Parts> parts, int rank, int size,
                                 const GroupOptions& options)
    : ProcessGroup(rank, size, options.groupName),
      timeout_(options.timeout),
      parts_(std::move(parts)) {}

ProcessGroupMPI::~ProcessGroupMPI() = default;

milliseconds ProcessGroupMPI::limit(const CallOptions& options) const {
  return timeLimit(options, *this);
}

std::uint64_t ProcessGroupMPI::sequenceNumber() const {
  return parts_->dispatcher->sequence();
}

void ProcessGroupMPI::setTimeout(milliseconds timeout) {
  if (timeout.count() <= 0) {
    throw std::invalid_argument(fmt::format("{}::setTimeout: timeout is {} ms; it must be positive",
                                            kMPIName, timeout.count()));
  }
  timeout_.store(timeout);
}

void ProcessGroupMPI::abort(const std::string& reason) {
  parts_->dispatcher->breakGroup(Failure{"aborted: " + reason, -1, CommErrorKind::kAborted});
}

GroupState ProcessGroupMPI::state() const {
  return parts_->dispatcher->state();
}

ProcessGroup::WorkPtr ProcessGroupMPI::broadcast(std::vector<at::Tensor> tensors, int root,
                                                 const CallOptions& options) {
  Call call = parts_->calls.broadcast(tensors, root, options);
  auto schedule = mpi::broadcast(parts_->place, tensors, root);
  return parts_->dispatcher->submit(std::move(call), std::move(tensors), limit(options),
                                    std::move(schedule));
}

ProcessGroup::WorkPtr ProcessGroupMPI::allreduce(std::vector<at::Tensor> tensors, ReduceOp op,
                                                 const CallOptions& options) {
  Call call = parts_->calls.allreduce(tensors, op, options);
  auto schedule = mpi::allreduce(parts_->place, tensors, op);
  return parts_->dispatcher->submit(std::move(call), std::move(tensors), limit(options),
                                    std::move(schedule));
}

ProcessGroup::WorkPtr ProcessGroupMPI::reduce(at::Tensor tensor, int root, ReduceOp op,
                                              const CallOptions& options) {
  Call call = parts_->calls.reduce(tensor, root, op, options);
  auto schedule = mpi::reduce(parts_->place, tensor, root, op);
  return parts_->dispatcher->submit(std::move(call), {std::move(tensor)}, limit(options),
                                    std::move(schedule));
}

ProcessGroup::WorkPtr ProcessGroupMPI::allgather(std::vector<at::Tensor> outputs, at::Tensor input,
                                                 const CallOptions& options) {
  Call call = parts_->calls.allgather(outputs, input, options);
  auto schedule = mpi::allgather(parts_->place, outputs, std::move(input));
  return parts_->dispatcher->submit(std::move(call), std::move(outputs), limit(options),
                                    std::move(schedule));
}

ProcessGroup::WorkPtr ProcessGroupMPI::gather(std::vector<at::Tensor> outputs, at::Tensor input,
                                              int root, const CallOptions& options) {
  Call call = parts_->calls.gather(outputs, input, root, options);
  auto schedule = mpi::gather(parts_->place, outputs, std::move(input), root);
  return parts_->dispatcher->submit(std::move(call), std::move(outputs), limit(options),
                                    std::move(schedule));
}

ProcessGroup::WorkPtr ProcessGroupMPI::scatter(at::Tensor output, std::vector<at::Tensor> inputs,
                                               int root, const CallOptions& options) {
  Call call = parts_->calls.scatter(output, inputs, root, options);
  auto schedule = mpi::scatter(parts_->place, output, std::move(inputs), root);
  return parts_->dispatcher->submit(std::move(call), {std::move(output)}, limit(options),
                                    std::move(schedule));
}

ProcessGroup::WorkPtr ProcessGroupMPI::reduceScatter(at::Tensor output,
                                                     std::vector<at::Tensor> inputs, ReduceOp op,
                                                     const CallOptions& options) {
  Call call = parts_->calls.reduceScatter(output, inputs, op, options);
  auto schedule = mpi::reduceScatter(parts_->place, output, std::move(inputs), op);
  return parts_->dispatcher->submit(std::move(call), {std::move(output)}, limit(options),
                                    std::move(schedule));
}

ProcessGroup::WorkPtr ProcessGroupMPI::alltoall(at::Tensor output, at::Tensor input,
                                                std::vector<std::int64_t> outputSplits,
                                                std::vector<std::int64_t> inputSplits,
                                                const CallOptions& options) {
  Call call = parts_->calls.alltoall(output, input, outputSplits, inputSplits, options);
  auto schedule =
      mpi::alltoall(parts_->place, output, std::move(input), call.bytesFrom, call.bytesTo);
  return parts_->dispatcher->submit(std::move(call), {std::move(output)}, limit(options),
                                    std::move(schedule));
}

ProcessGroup::WorkPtr ProcessGroupMPI::send(at::Tensor tensor, int to, int tag,
                                            const CallOptions& options) {
  Call call = parts_->calls.send(tensor, to, tag, options);
  return parts_->dispatcher->submitDirect(std::move(call), std::move(tensor), tag, limit(options));
}

ProcessGroup::WorkPtr ProcessGroupMPI::recv(at::Tensor tensor, int from, int tag,
                                            const CallOptions& options) {
  Call call = parts_->calls.recv(tensor, from, tag, options);
  return parts_->dispatcher->submitDirect(std::move(call), std::move(tensor), tag, limit(options));
}

ProcessGroup::WorkPtr ProcessGroupMPI::barrier(const CallOptions& options) {
  return parts_->dispatcher->submitBarrier(parts_->calls.barrier(options), limit(options));
}

}  // namespace lockstep::process_group
