#pragma once

#include <vector>

#include "engine/buckets/BucketPlan.h"
#include "engine/process_group/ProcessGroup.h"

namespace lockstep::ddp {

/// Returns rank 0's plan on every rank: gradients may become ready in different orders, and
/// buckets must match. `own` is this rank's plan over the parameters `specs`. One broadcast.
/// Throws CommError, and DdpError when what arrived does not hold each parameter once.
buckets::BucketPlan agreeOnPlan(process_group::ProcessGroup& group,
                                const std::vector<buckets::TensorSpec>& specs,
                                const buckets::BucketPlan& own, std::uint32_t step);

}  // namespace lockstep::ddp
