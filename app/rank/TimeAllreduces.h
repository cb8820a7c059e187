#pragma once

#include <vector>

#include "engine/cost/TransferFit.h"
#include "engine/process_group/ProcessGroup.h"

namespace lockstep::rank {

/// Times allreduces of 4 KiB to 8 MiB, three of each size, as a Reducer waits for them (Note [The
/// probe of a run]); sizes of which one would take more than a tenth of a second are left out.
/// Collective: all ranks get the same figures, those of the last rank that came to each. Throws
/// CommError.
std::vector<cost::TransferSample> timeAllreduces(process_group::ProcessGroup& group);

}  // namespace lockstep::rank
