#include "engine/ddp/reducer/ReducerContext.h"

#include <ATen/ScalarOps.h>

#include <utility>

#include "engine/hooks/AllreduceHook.h"

namespace lockstep::ddp {

ReducerContext::ReducerContext(std::vector<NamedTensor> all,
                               std::shared_ptr<process_group::ProcessGroup> ofRanks,
                               ReducerOptions asked)
    : options(std::move(asked)),
      group(std::move(ofRanks)),
      parameters(std::move(all), options.frozen, options.sparseGradients, group->rank()),
      planned(parameters.size() - options.deferred),
      lane(options.tracer, options.deviceSpans),
      hook(options.hook == nullptr ? std::make_shared<hooks::AllreduceHook>(group, &lane.tracer())
                                   : options.hook) {
  divideBy(group->size());
}

void ReducerContext::divideBy(int by) {
  divisor = by;
  inverse = at::native::wrapped_scalar_tensor(1.0 / by);
}

process_group::CallOptions ReducerContext::callOptions() const {
  process_group::CallOptions call;
  call.step = lane.step();
  return call;
}

}  // namespace lockstep::ddp
