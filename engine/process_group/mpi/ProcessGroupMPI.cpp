#include "engine/process_group/mpi/ProcessGroupMPI.h"

#include "engine/process_group/mpi/Collectives.h"
#include "engine/process_group/mpi/Dispatcher.h"
#include "engine/process_group/operation/BackendGroup.h"

namespace lockstep::process_group {

namespace mpi {
namespace {

using trace::Operation;

Schedule scheduleOf(Place place, const Request& request) {
  if (reduces(request.call.operation)) {
    return reduce(place, request);
  }
  return request.call.operation == Operation::kBroadcast ? broadcast(place, request)
                                                         : move(place, request);
}

// The MPI thread has a share of the dispatcher.
class ProcessGroupMPI final : public BackendGroup<Dispatcher> {
 public:
  ProcessGroupMPI(std::shared_ptr<Dispatcher> dispatcher, int rank, int size,
                  const GroupOptions& options)
      : BackendGroup(std::move(dispatcher), "mpi", "ProcessGroupMPI", rank, size, options) {}
  ~ProcessGroupMPI() override { calls_->close(); }

 protected:
  WorkPtr start(Request request) override {
    const auto limit = limitOf(request);
    if (isDirect(request.call.operation)) {
      return calls_->submitDirect(std::move(request.call), std::move(request.outputs.front()),
                                  request.tag, limit);
    }
    if (request.call.operation == Operation::kBarrier) {
      return calls_->submitBarrier(std::move(request.call), limit);
    }
    Schedule schedule = scheduleOf({rank(), size()}, request);
    return calls_->submit(std::move(request.call), std::move(request.outputs), limit,
                          std::move(schedule));
  }
};

}  // namespace
}  // namespace mpi

base::Result<std::shared_ptr<ProcessGroup>> makeMpi(std::shared_ptr<store::Store> store, int rank,
                                                    int size, const GroupOptions& options) {
  const auto connected = mpi::connect(*store, joinerOf(rank, size, options));
  if (!connected.ok()) {
    return connected.error();
  }
  const auto dispatcher =
      std::make_shared<mpi::Dispatcher>(Member(rank, size, options), connected.value());
  if (connected.value().runtime != nullptr) {
    connected.value().runtime->attach(dispatcher);
  }
  return std::shared_ptr<ProcessGroup>(
      std::make_shared<mpi::ProcessGroupMPI>(dispatcher, rank, size, options));
}

}  // namespace lockstep::process_group
