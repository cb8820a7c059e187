#include "engine/process_group/shared_memory/ProcessGroupSharedMemory.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <stdexcept>

#include "engine/process_group/CallMaker.h"
#include "engine/process_group/shared_memory/DrivenWork.h"
#include "engine/process_group/shared_memory/HostKey.h"
#include "engine/process_group/shared_memory/Watch.h"

namespace lockstep::process_group {

using shared_memory::Board;
using shared_memory::CollectivePtr;
using shared_memory::Dispatcher;
using shared_memory::DrivenWork;
using shared_memory::Mesh;
using shared_memory::Message;
using shared_memory::OperationPtr;
using std::chrono::milliseconds;

namespace {

constexpr const char* kSharedMemoryName = "ProcessGroupSharedMemory";

// Rank 0 makes the board and hands it to the others.
base::Result<std::unique_ptr<Board>> shareBoard(Mesh& mesh, const Mesh::Options& options) {
  if (options.rank == 0) {
    auto board = Board::create(options.size, shared_memory::tuningFor(options.size));
    if (board.ok()) {
      Message::Header header;
      header.kind = Message::Kind::kBoard;
      header.bytes = board.value()->segment().bytes();
      mesh.sendToAll(header, {}, board.value()->segment().file());
    }
    return board;
  }
  const auto message = mesh.receive(0, std::chrono::steady_clock::now() + options.timeout);
  if (message == nullptr || message->header.kind != Message::Kind::kBoard) {
    return options.failed("rank 0 has ended, or says nothing, before the group stands");
  }
  return Board::attach(std::move(message->file), message->header.bytes, options.size);
}

}  // namespace

struct ProcessGroupSharedMemory::Parts {
  Parts(const Dispatcher::Options& options, std::unique_ptr<Board> board,
        const std::shared_ptr<Mesh>& mesh)
      : calls(kSharedMemoryName, options.rank, options.size),
        directory(std::make_shared<shared_memory::Directory>(mesh)),
        dispatcher(std::make_shared<Dispatcher>(options, std::move(board), mesh, directory)),
        pointToPoint(std::make_shared<shared_memory::PointToPoint>(dispatcher, mesh, directory)) {
    dispatcher->setBreakHandler([weak = std::weak_ptr(pointToPoint)] {
      if (const auto direct = weak.lock()) {
        direct->endFailed();
      }
    });
    dispatcher->start();
    watch = std::make_unique<shared_memory::Watch>(dispatcher, pointToPoint, directory, mesh);
  }
  ~Parts() { dispatcher->close(); }

  WorkPtr submit(Call call, std::vector<at::Tensor> outputs, milliseconds limit,
                 CollectivePtr collective) const {
    return work(
        dispatcher->submit(std::move(call), std::move(outputs), limit, std::move(collective)));
  }
  [[nodiscard]] WorkPtr work(OperationPtr operation) const {
    return std::make_shared<DrivenWork>(std::move(operation), dispatcher);
  }

  const CallMaker calls;
  const std::shared_ptr<shared_memory::Directory> directory;
  const std::shared_ptr<Dispatcher> dispatcher;
  const std::shared_ptr<shared_memory::PointToPoint> pointToPoint;
  std::unique_ptr<shared_memory::Watch> watch;
};

base::Result<std::shared_ptr<ProcessGroupSharedMemory>> ProcessGroupSharedMemory::make(
    std::shared_ptr<store::Store> store, int rank, int size, const GroupOptions& options) {
  Mesh::Options meeting;
  meeting.group = options.groupName;
  meeting.rank = rank;
  meeting.size = size;
  meeting.timeout = timeLimit(kNoTimeout, options.timeout);
  meeting.host = hostKey();
  auto mesh = Mesh::connect(*store, meeting);
  if (!mesh.ok()) {
    return mesh.error();
  }
  auto board = shareBoard(*mesh.value(), meeting);
  if (!board.ok()) {
    return meeting.failed(board.error().message());
  }
  Dispatcher::Options dispatch;
  dispatch.group = options.groupName;
  dispatch.rank = rank;
  dispatch.size = size;
  dispatch.tracer = options.tracer;
  dispatch.groupNumber = options.groupNumber;
  auto parts = std::make_unique<Parts>(dispatch, std::move(board).value(),
                                       std::shared_ptr<Mesh>(std::move(mesh).value()));
  return std::shared_ptr<ProcessGroupSharedMemory>(
      new ProcessGroupSharedMemory(std::move(parts), rank, size, options));
}

ProcessGroupSharedMemory::ProcessGroupSharedMemory(std::unique_ptr<Parts> parts, int rank, int size,
                                                   const GroupOptions& options)
    : ProcessGroup(rank, size, options.groupName),
      timeout_(options.timeout),
      parts_(std::move(parts)) {}

ProcessGroupSharedMemory::~ProcessGroupSharedMemory() = default;

milliseconds ProcessGroupSharedMemory::limit(const CallOptions& options) const {
  return timeLimit(options, *this);
}

std::uint64_t ProcessGroupSharedMemory::sequenceNumber() const {
  return parts_->dispatcher->sequence();
}

void ProcessGroupSharedMemory::setTimeout(milliseconds timeout) {
  if (timeout.count() <= 0) {
    throw std::invalid_argument(fmt::format("{}::setTimeout: timeout is {} ms; it must be positive",
                                            kSharedMemoryName, timeout.count()));
  }
  timeout_.store(timeout);
}

void ProcessGroupSharedMemory::abort(const std::string& reason) {
  parts_->dispatcher->breakGroup(
      Failure{"aborted: " + reason, -1, CommErrorKind::kAborted});
}

GroupState ProcessGroupSharedMemory::state() const {
  return parts_->dispatcher->state();
}

at::Tensor ProcessGroupSharedMemory::allocate(std::int64_t bytes) {
  if (size() == 1 || bytes <= 0) {
    return ProcessGroup::allocate(bytes);
  }
  auto segment = shared_memory::Segment::create(static_cast<std::uint64_t>(bytes));
  if (!segment.ok()) {
    CommError::Where where;
    where.group = groupName();
    where.rank = rank();
    throw CommError(where, segment.error().message());
  }
  void* const data = segment.value()->data();
  return at::from_blob(
      data, {bytes}, [kept = std::move(segment).value()](void*) mutable { kept.reset(); },
      at::TensorOptions().dtype(at::kByte).device(at::kCPU));
}

ProcessGroup::WorkPtr ProcessGroupSharedMemory::broadcast(std::vector<at::Tensor> tensors, int root,
                                                          const CallOptions& options) {
  Call call = parts_->calls.broadcast(tensors, root, options);
  auto collective = shared_memory::makeBroadcast(tensors, root, rank());
  return parts_->submit(std::move(call), std::move(tensors), limit(options), std::move(collective));
}

ProcessGroup::WorkPtr ProcessGroupSharedMemory::allreduce(std::vector<at::Tensor> tensors,
                                                          ReduceOp op, const CallOptions& options) {
  Call call = parts_->calls.allreduce(tensors, op, options);
  auto collective = shared_memory::makeAllreduce(tensors, op);
  return parts_->submit(std::move(call), std::move(tensors), limit(options), std::move(collective));
}

ProcessGroup::WorkPtr ProcessGroupSharedMemory::reduce(at::Tensor tensor, int root, ReduceOp op,
                                                       const CallOptions& options) {
  Call call = parts_->calls.reduce(tensor, root, op, options);
  auto collective = shared_memory::makeReduce(tensor, root, op, rank());
  return parts_->submit(std::move(call), {std::move(tensor)}, limit(options),
                        std::move(collective));
}

ProcessGroup::WorkPtr ProcessGroupSharedMemory::allgather(std::vector<at::Tensor> outputs,
                                                          at::Tensor input,
                                                          const CallOptions& options) {
  Call call = parts_->calls.allgather(outputs, input, options);
  auto collective = shared_memory::makeGather(outputs, std::move(input));
  return parts_->submit(std::move(call), std::move(outputs), limit(options), std::move(collective));
}

ProcessGroup::WorkPtr ProcessGroupSharedMemory::gather(std::vector<at::Tensor> outputs,
                                                       at::Tensor input, int root,
                                                       const CallOptions& options) {
  Call call = parts_->calls.gather(outputs, input, root, options);
  auto collective = shared_memory::makeGather(outputs, std::move(input));
  return parts_->submit(std::move(call), std::move(outputs), limit(options), std::move(collective));
}

ProcessGroup::WorkPtr ProcessGroupSharedMemory::scatter(at::Tensor output,
                                                        std::vector<at::Tensor> inputs, int root,
                                                        const CallOptions& options) {
  Call call = parts_->calls.scatter(output, inputs, root, options);
  auto collective = shared_memory::makeScatter(output, std::move(inputs), root);
  return parts_->submit(std::move(call), {std::move(output)}, limit(options),
                        std::move(collective));
}

ProcessGroup::WorkPtr ProcessGroupSharedMemory::reduceScatter(at::Tensor output,
                                                              std::vector<at::Tensor> inputs,
                                                              ReduceOp op,
                                                              const CallOptions& options) {
  Call call = parts_->calls.reduceScatter(output, inputs, op, options);
  auto collective = shared_memory::makeReduceScatter(output, std::move(inputs), op);
  return parts_->submit(std::move(call), {std::move(output)}, limit(options),
                        std::move(collective));
}

ProcessGroup::WorkPtr ProcessGroupSharedMemory::alltoall(at::Tensor output, at::Tensor input,
                                                         std::vector<std::int64_t> outputSplits,
                                                         std::vector<std::int64_t> inputSplits,
                                                         const CallOptions& options) {
  Call call = parts_->calls.alltoall(output, input, outputSplits, inputSplits, options);
  auto collective = shared_memory::makeAlltoall(output, std::move(input), call);
  return parts_->submit(std::move(call), {std::move(output)}, limit(options),
                        std::move(collective));
}

ProcessGroup::WorkPtr ProcessGroupSharedMemory::send(at::Tensor tensor, int to, int tag,
                                                     const CallOptions& options) {
  Call call = parts_->calls.send(tensor, to, tag, options);
  return parts_->work(
      parts_->pointToPoint->send(std::move(call), std::move(tensor), tag, limit(options)));
}

ProcessGroup::WorkPtr ProcessGroupSharedMemory::recv(at::Tensor tensor, int from, int tag,
                                                     const CallOptions& options) {
  Call call = parts_->calls.recv(tensor, from, tag, options);
  return parts_->work(
      parts_->pointToPoint->receive(std::move(call), std::move(tensor), tag, limit(options)));
}

ProcessGroup::WorkPtr ProcessGroupSharedMemory::barrier(const CallOptions& options) {
  Call call = parts_->calls.barrier(options);
  return parts_->submit(std::move(call), {}, limit(options), shared_memory::makeBarrier());
}

}  // namespace lockstep::process_group
