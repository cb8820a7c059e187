#pragma once

#include <vector>

#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/WorkState.h"

namespace lockstep::process_group {

/// Returns a Work that ends when all of `parts` have ended: well, or with the error of the part
/// that failed first. It has no outputs. abort() aborts every part.
[[nodiscard]] ProcessGroup::WorkPtr joinWorks(std::vector<ProcessGroup::WorkPtr> parts,
                                              CommError::Where where,
                                              std::chrono::milliseconds limit);

}  // namespace lockstep::process_group
