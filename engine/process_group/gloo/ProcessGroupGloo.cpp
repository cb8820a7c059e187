#include "engine/process_group/gloo/ProcessGroupGloo.h"

#include "engine/base/Try.h"
#include "engine/process_group/gloo/Dispatcher.h"
#include "engine/process_group/operation/BackendGroup.h"

namespace lockstep::process_group {

base::Result<std::shared_ptr<ProcessGroup>> makeGloo(std::shared_ptr<store::Store> store, int rank,
                                                     int size, const GroupOptions& options) {
  auto transport = LOCKSTEP_TRY(
      gloo::Transport::connect(store, joinerOf(rank, size, options), options.interfaces));
  return std::shared_ptr<ProcessGroup>(std::make_shared<DispatchedGroup<gloo::Dispatcher>>(
      std::make_shared<gloo::Dispatcher>(Member(rank, size, options), std::move(transport),
                                         std::move(store)),
      "gloo", "ProcessGroupGloo", options));
}

}  // namespace lockstep::process_group
