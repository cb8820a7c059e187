#pragma once

#include "engine/cost/LinkModel.h"
#include "engine/experiment/Experiment.h"

namespace lockstep::cost {

/// Returns the network that [link] describes.
LinkOptions linkOptions(const experiment::LinkConfig& config);

}  // namespace lockstep::cost
