#include "engine/process_group/gloo/ProcessGroupGloo.h"

#include "engine/process_group/gloo/Dispatcher.h"
#include "engine/process_group/operation/BackendGroup.h"

namespace lockstep::process_group {
namespace gloo {
namespace {

// What a worker does for a collective.
void carryOut(Dispatcher& dispatcher, Flight& flight, Scratch& scratch, const Request& request) {
  if (reduces(flight.call.operation)) {
    reduce(flight, scratch, request.outputs, request.inputs);
  } else if (flight.call.operation == trace::Operation::kBarrier) {
    dispatcher.waitForEarlier(flight);
    barrier(flight);
  } else {
    move(flight, request.outputs, request.inputs);
  }
}

class ProcessGroupGloo final : public BackendGroup<Dispatcher> {
 public:
  ProcessGroupGloo(std::shared_ptr<Dispatcher> dispatcher, int rank, int size,
                   const GroupOptions& options)
      : BackendGroup(std::move(dispatcher), "gloo", "ProcessGroupGloo", rank, size, options) {}
  ~ProcessGroupGloo() override { calls_->close(); }

 protected:
  WorkPtr start(Request request) override {
    const auto limit = limitOf(request);
    Call call = std::move(request.call);
    if (isDirect(call.operation)) {
      return calls_->submitDirect(std::move(call), std::move(request.outputs.front()), request.tag,
                                  limit);
    }
    std::vector<at::Tensor> outputs = request.outputs;
    return calls_->submit(std::move(call), std::move(outputs), limit,
                          [this, request = std::move(request)](Flight& flight, Scratch& scratch) {
                            carryOut(*calls_, flight, scratch, request);
                          });
  }
};

}  // namespace
}  // namespace gloo

base::Result<std::shared_ptr<ProcessGroup>> makeGloo(std::shared_ptr<store::Store> store, int rank,
                                                     int size, const GroupOptions& options) {
  auto transport =
      gloo::Transport::connect(*store, {joinerOf(rank, size, options), options.interfaces});
  if (!transport.ok()) {
    return transport.error();
  }
  return std::shared_ptr<ProcessGroup>(std::make_shared<gloo::ProcessGroupGloo>(
      std::make_shared<gloo::Dispatcher>(Member(rank, size, options), std::move(transport).value(),
                                         std::move(store)),
      rank, size, options));
}

}  // namespace lockstep::process_group
