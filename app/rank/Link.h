#pragma once

#include "engine/experiment/Experiment.h"
#include "engine/process_group/shaped/LinkModel.h"

namespace lockstep::rank {

/// Returns the network that [link] describes.
process_group::LinkOptions linkOptions(const experiment::LinkConfig& config);

}  // namespace lockstep::rank
