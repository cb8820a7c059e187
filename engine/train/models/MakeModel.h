#pragma once

#include <memory>

#include "engine/base/Result.h"
#include "engine/experiment/Experiment.h"
#include "engine/trace/Messages.h"
#include "engine/train/DataShape.h"
#include "engine/train/models/Model.h"

namespace lockstep::train {

/// Makes the model of an experiment for data of the given shape, in training mode, with
/// PyTorch's default initialisation from the global generator (seed it first).
/// Errors (kBadInput): the model does not fit the data (the key and both sizes are named), a
/// model file that is missing or damaged.
base::Result<std::shared_ptr<Model>> makeModel(const experiment::ModelConfig& config,
                                               const DataShape& data);

/// Lists the parameters in registration order.
trace::ParametersMessage describeParameters(const Model& model);

/// Returns the description `lockstep-rank --describe-model` prints: one JSON object with the
/// members "model", "parameters" [{name, shape, dtype, numel, bytes}], "buffers" (the same)
/// and "bytes" (of all parameters).
std::string describeModelJson(const std::string& kind, const Model& model);

}  // namespace lockstep::train
