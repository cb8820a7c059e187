#include "engine/process_group/mpi/ProcessGroupMPI.h"

#include "engine/base/Check.h"
#include "engine/process_group/Request.h"
#include "engine/process_group/mpi/Collectives.h"
#include "engine/process_group/mpi/Dispatcher.h"

namespace lockstep::process_group {

using std::chrono::milliseconds;
using trace::Operation;

namespace {

constexpr const char* kMPIName = "ProcessGroupMPI";

mpi::Schedule scheduleOf(mpi::Place place, const Request& request) {
  const Call& call = request.call;
  const std::vector<at::Tensor>& outputs = request.outputs;
  const std::vector<at::Tensor>& inputs = request.inputs;
  switch (call.operation) {
    case Operation::kBroadcast: return mpi::broadcast(place, outputs, call.root);
    case Operation::kAllreduce: return mpi::allreduce(place, outputs, call.reduce);
    case Operation::kReduce: return mpi::reduce(place, outputs.front(), call.root, call.reduce);
    case Operation::kAllgather: return mpi::allgather(place, outputs, inputs.front());
    case Operation::kGather: return mpi::gather(place, outputs, inputs.front(), call.root);
    case Operation::kScatter: return mpi::scatter(place, outputs.front(), inputs, call.root);
    case Operation::kReduceScatter:
      return mpi::reduceScatter(place, outputs.front(), inputs, call.reduce);
    case Operation::kAlltoall:
      return mpi::alltoall(place, outputs.front(), inputs.front(), call.bytesFrom, call.bytesTo);
    default: LOCKSTEP_CHECK(false, "mpi has no {}", trace::name(call.operation));
  }
}

}  // namespace

struct ProcessGroupMPI::Parts {
  Parts(const Member& member, const mpi::Connected& connected)
      : place{member.rank, member.size},
        dispatcher(std::make_shared<mpi::Dispatcher>(member, connected)) {
    // From now on it is polled.
    if (connected.runtime != nullptr) {
      connected.runtime->attach(dispatcher);
    }
  }
  ~Parts() { dispatcher->close(); }

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
  auto parts = std::make_unique<Parts>(Member(rank, size, options), connected.value());
  return std::shared_ptr<ProcessGroupMPI>(
      new ProcessGroupMPI(std::move(parts), rank, size, options));
}

ProcessGroupMPI::ProcessGroupMPI(std::unique_ptr<Parts> parts, int rank, int size,
                                 const GroupOptions& options)
    : ProcessGroup(rank, size, options.groupName, kMPIName, Devices::kCpu, options.timeout),
      parts_(std::move(parts)) {}

ProcessGroupMPI::~ProcessGroupMPI() = default;

std::uint64_t ProcessGroupMPI::sequenceNumber() const {
  return parts_->dispatcher->sequence();
}

void ProcessGroupMPI::abort(const std::string& reason) {
  parts_->dispatcher->breakGroup(Failure{"aborted: " + reason, -1, CommErrorKind::kAborted});
}

GroupState ProcessGroupMPI::state() const {
  return parts_->dispatcher->state();
}

ProcessGroup::WorkPtr ProcessGroupMPI::start(Request request) {
  const milliseconds limit = timeLimit(request.call.options, *this);
  mpi::Dispatcher& dispatcher = *parts_->dispatcher;
  if (isDirect(request.call.operation)) {
    return dispatcher.submitDirect(std::move(request.call), std::move(request.outputs.front()),
                                   request.tag, limit);
  }
  if (request.call.operation == Operation::kBarrier) {
    return dispatcher.submitBarrier(std::move(request.call), limit);
  }
  mpi::Schedule schedule = scheduleOf(parts_->place, request);
  return dispatcher.submit(std::move(request.call), std::move(request.outputs), limit,
                           std::move(schedule));
}

}  // namespace lockstep::process_group
