#pragma once

#include <string>

#include "engine/base/Result.h"
#include "engine/experiment/Experiment.h"

namespace lockstep::rank {

/// Returns the JSON of `--describe-model` (train/models/MakeModel.h); needs no other rank.
base::Result<std::string> describeModel(const experiment::Experiment& experiment);

}  // namespace lockstep::rank
