#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/WorkState.h"

namespace lockstep::process_group {

/// Returns a Work that ends when all of `parts` have ended: with `outputs`, or with the error of
/// the part that failed first. `finish` runs before it succeeds, on the thread that ends the last
/// part; what it queues on a device goes on the stream that was current at the call. What it throws
/// is the operation's error. abort() aborts every part.
[[nodiscard]] ProcessGroup::WorkPtr joinWorks(std::vector<ProcessGroup::WorkPtr> parts,
                                              CommError::Where where,
                                              std::vector<at::Tensor> outputs,
                                              std::chrono::milliseconds limit,
                                              std::function<void()> finish = {});

}  // namespace lockstep::process_group
