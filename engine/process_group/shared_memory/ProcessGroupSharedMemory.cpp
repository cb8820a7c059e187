#include "engine/process_group/shared_memory/ProcessGroupSharedMemory.h"

#include <ATen/ATen.h>
#include <fcntl.h>

#include "engine/base/Check.h"
#include "engine/process_group/Request.h"
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
using trace::Operation;

namespace {

constexpr const char* kSharedMemoryName = "ProcessGroupSharedMemory";

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
  // Before the watch runs, so this thread alone reads from the mesh. Rank 0 makes the board and
  // hands it to the others.
  const auto message = mesh.receive(0, std::chrono::steady_clock::now() + options.timeout);
  if (message == nullptr || message->header.kind != Message::Kind::kBoard) {
    return options.failed("rank 0 has ended, or says nothing, before the group stands");
  }
  return Board::attach(std::move(message->file), message->header.bytes, options.size);
}

CollectivePtr collectiveOf(const Request& request, int rank) {
  const Call& call = request.call;
  const std::vector<at::Tensor>& outputs = request.outputs;
  const std::vector<at::Tensor>& inputs = request.inputs;
  switch (call.operation) {
    case Operation::kBroadcast: return shared_memory::makeBroadcast(outputs, call.root, rank);
    case Operation::kAllreduce: return shared_memory::makeAllreduce(outputs, call.reduce);
    case Operation::kReduce:
      return shared_memory::makeReduce(outputs.front(), call.root, call.reduce, rank);
    case Operation::kAllgather:
    case Operation::kGather: return shared_memory::makeGather(outputs, inputs.front());
    case Operation::kScatter:
      return shared_memory::makeScatter(outputs.front(), inputs, call.root);
    case Operation::kReduceScatter:
      return shared_memory::makeReduceScatter(outputs.front(), inputs, call.reduce);
    case Operation::kAlltoall:
      return shared_memory::makeAlltoall(outputs.front(), inputs.front(), call);
    case Operation::kBarrier: return shared_memory::makeBarrier();
    default: LOCKSTEP_CHECK(false, "shared_memory has no {}", trace::name(call.operation));
  }
}

}  // namespace

struct ProcessGroupSharedMemory::Parts {
  Parts(const Member& member, std::unique_ptr<Board> board, const std::shared_ptr<Mesh>& mesh)
      : directory(std::make_shared<shared_memory::Directory>(mesh)),
        dispatcher(std::make_shared<Dispatcher>(member, std::move(board), mesh, directory)),
        pointToPoint(std::make_shared<shared_memory::PointToPoint>(dispatcher, mesh, directory)) {
    // Weak: it holds the dispatcher, and a circle would keep both.
    dispatcher->setBreakHandler([weak = std::weak_ptr(pointToPoint)] {
      if (const auto direct = weak.lock()) {
        direct->endFailed();
      }
    });
    dispatcher->start();
    // Last: from now on messages arrive, for all that stands above.
    watch = std::make_unique<shared_memory::Watch>(dispatcher, pointToPoint, directory, mesh);
  }
  // The dispatcher waits for what is in flight; the watch, which goes after this, hears the others
  // meanwhile.
  ~Parts() { dispatcher->close(); }

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
  auto parts = std::make_unique<Parts>(Member(rank, size, options), std::move(board).value(),
                                       std::shared_ptr<Mesh>(std::move(mesh).value()));
  return std::shared_ptr<ProcessGroupSharedMemory>(
      new ProcessGroupSharedMemory(std::move(parts), rank, size, options));
}

ProcessGroupSharedMemory::ProcessGroupSharedMemory(std::unique_ptr<Parts> parts, int rank, int size,
                                                   const GroupOptions& options)
    : ProcessGroup(rank, size, options.groupName, kSharedMemoryName, Devices::kCpu,
                   options.timeout),
      parts_(std::move(parts)) {}

ProcessGroupSharedMemory::~ProcessGroupSharedMemory() = default;

std::uint64_t ProcessGroupSharedMemory::sequenceNumber() const {
  return parts_->dispatcher->sequence();
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
  // The tensor's storage owns the segment: when it goes, the others hear of it (Segment::whenGone).
  void* const data = segment.value()->data();
  return at::from_blob(
      data, {bytes}, [kept = std::move(segment).value()](void*) mutable { kept.reset(); },
      at::TensorOptions().dtype(at::kByte).device(at::kCPU));
}

ProcessGroup::WorkPtr ProcessGroupSharedMemory::start(Request request) {
  const milliseconds limit = timeLimit(request.call.options, *this);
  shared_memory::PointToPoint& direct = *parts_->pointToPoint;
  OperationPtr operation;
  if (request.call.operation == Operation::kSend) {
    operation = direct.send(std::move(request.call), std::move(request.outputs.front()),
                            request.tag, limit);
  } else if (request.call.operation == Operation::kRecv) {
    operation = direct.receive(std::move(request.call), std::move(request.outputs.front()),
                               request.tag, limit);
  } else {
    CollectivePtr collective = collectiveOf(request, rank());
    operation = parts_->dispatcher->submit(std::move(request.call), std::move(request.outputs),
                                           limit, std::move(collective));
  }
  return std::make_shared<DrivenWork>(std::move(operation), parts_->dispatcher);
}

}  // namespace lockstep::process_group
