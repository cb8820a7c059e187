#pragma once

#include <vector>

#include "engine/cost/TransferFit.h"
#include "engine/process_group/ProcessGroup.h"

namespace lockstep::rank {

/// Times messages of 4 KiB and 256 KiB from this rank to the next one of the ring and back, five of
/// each, and returns what one way took, in the order of time; nothing of fewer than three ranks,
/// among which there is one link alone. Where any rank's small
/// ones take more than 3 ms, the large ones are left out. Collective. Throws CommError.
std::vector<cost::TransferSample> timeNextPeer(process_group::ProcessGroup& group);

}  // namespace lockstep::rank
