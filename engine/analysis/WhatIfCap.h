#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/Result.h"
#include "engine/buckets/Assign.h"
#include "engine/cost/Replay.h"
#include "engine/trace/Messages.h"

namespace lockstep::analysis {

/// Returns the buckets that a rebuild in the order of `layout` makes with other caps than those
/// that made the layout, `caps`. Error: a clause that ends "this run cannot tell, because ...": its
/// buckets were never rebuilt; it gives a list of caps, and `others` one cap; or they are not what
/// these caps make of one kind of dense gradients, so that those of other caps cannot be computed.
/// [any-thread]
base::Result<std::vector<cost::PlannedBucket>> planWithCaps(
    const std::vector<trace::ParametersMessage::Parameter>& parameters,
    const trace::BucketsMessage& layout, const buckets::BucketCaps& caps,
    const buckets::BucketCaps& others);

}  // namespace lockstep::analysis
