#pragma once

#include <string>
#include <vector>

#include "engine/process_group/ProcessGroup.h"

namespace lockstep::train {

/// Returns on rank 0 every rank's `text`, by rank, and nothing elsewhere. Collective. Throws
/// CommError.
std::vector<std::string> gatherTexts(process_group::ProcessGroup& group, const std::string& text);

}  // namespace lockstep::train
