#include "engine/process_group/shared_memory/ProcessGroupSharedMemory.h"

#include <ATen/ATen.h>

#include "engine/base/Try.h"
#include "engine/process_group/operation/BackendGroup.h"
#include "engine/process_group/shared_memory/DrivenWork.h"
#include "engine/process_group/shared_memory/HostKey.h"
#include "engine/process_group/shared_memory/Watch.h"

namespace lockstep::process_group {
namespace shared_memory {
namespace {

// Rank 0 makes the board and hands it to the others.
base::Result<std::unique_ptr<Board>> shareBoard(Mesh& mesh, const Mesh::Options& options) {
  if (options.rank == 0) {
    auto board = Board::create(options.size, tuningFor(options.size));
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

class ProcessGroupSharedMemory final : public BackendGroup<Dispatcher> {
 public:
  ProcessGroupSharedMemory(std::shared_ptr<Dispatcher> dispatcher,
                           const std::shared_ptr<Mesh>& mesh,
                           const std::shared_ptr<Directory>& directory, const GroupOptions& options)
      : BackendGroup(dispatcher, "shared_memory", "ProcessGroupSharedMemory", options),
        direct_(std::make_shared<PointToPoint>(dispatcher, mesh, directory)) {
    dispatcher->setBreakHandler([weak = std::weak_ptr(direct_)] {
      if (const auto direct = weak.lock()) {
        direct->endFailed();
      }
    });
    dispatcher->start();
    watch_ = std::make_unique<Watch>(dispatcher, direct_, directory, mesh);
  }
  ~ProcessGroupSharedMemory() override { calls_->close(); }

  at::Tensor allocate(std::int64_t bytes) override {
    if (size() == 1 || bytes <= 0) {
      return ProcessGroup::allocate(bytes);
    }
    auto segment = Segment::create(static_cast<std::uint64_t>(bytes));
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

 protected:
  WorkPtr start(Request request) override {
    const auto limit = limitOf(request);
    OperationPtr operation;
    if (isDirect(request.call.operation)) {
      operation = direct_->start(std::move(request.call), std::move(request.outputs.front()),
                                 request.tag, limit);
    } else {
      CollectivePtr collective = reduces(request.call.operation) ? makeReduction(request, rank())
                                                                 : makeMove(request, rank());
      operation = calls_->submit(std::move(request.call), std::move(request.outputs), limit,
                                 std::move(collective));
    }
    return std::make_shared<DrivenWork>(std::move(operation), calls_);
  }

 private:
  const std::shared_ptr<PointToPoint> direct_;
  std::unique_ptr<Watch> watch_;
};

}  // namespace
}  // namespace shared_memory

base::Result<std::shared_ptr<ProcessGroup>> makeSharedMemory(std::shared_ptr<store::Store> store,
                                                             int rank, int size,
                                                             const GroupOptions& options) {
  using namespace shared_memory;
  const Mesh::Options meeting{joinerOf(rank, size, options), hostKey()};
  const std::shared_ptr<Mesh> mesh = LOCKSTEP_TRY(Mesh::connect(*store, meeting));
  auto board = shareBoard(*mesh, meeting);
  if (!board.ok()) {
    return meeting.failed(board.error().message());
  }
  const auto directory = std::make_shared<Directory>(mesh);
  const auto dispatcher = std::make_shared<Dispatcher>(Member(rank, size, options),
                                                       std::move(board).value(), mesh, directory);
  return std::shared_ptr<ProcessGroup>(
      std::make_shared<ProcessGroupSharedMemory>(dispatcher, mesh, directory, options));
}

}  // namespace lockstep::process_group
