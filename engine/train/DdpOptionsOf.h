#pragma once

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/experiment/Experiment.h"

namespace lockstep::train {

/// The settings of an experiment's [ddp] as a DistributedDataParallel takes them. Left to the
/// caller: syncBatchNorm, which changes the model before it is wrapped, and the Join's. `config` is
/// a valid one.
[[nodiscard]] ddp::DdpOptions ddpOptionsOf(const experiment::DdpConfig& config);

}  // namespace lockstep::train
