#pragma once

#include <vector>

#include "engine/process_group/ProcessGroup.h"

namespace lockstep::process_group {

/// Sends inputs[r] to rank r and fills outputs[r] from it, as c10d's alltoall of lists. Both have
/// group.size() tensors of one dtype; sizes may differ, and be 0, as long as what a rank sends
/// is what the other expects. One alltoall of the group. Throws std::invalid_argument.
ProcessGroup::WorkPtr alltoallLists(ProcessGroup& group, std::vector<at::Tensor> outputs,
                                    std::vector<at::Tensor> inputs,
                                    const CallOptions& options = {});

/// Fills outputs[r][i] with rank r's inputs[i], as c10d's coalesced allgather: one allgather of
/// the group for each dtype among the inputs. outputs: group.size() lists like `inputs`. Throws
/// std::invalid_argument.
ProcessGroup::WorkPtr allgatherCoalesced(ProcessGroup& group,
                                         std::vector<std::vector<at::Tensor>> outputs,
                                         std::vector<at::Tensor> inputs,
                                         const CallOptions& options = {});

}  // namespace lockstep::process_group
