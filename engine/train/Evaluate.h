#pragma once

#include "engine/process_group/ProcessGroup.h"
#include "engine/trace/Messages.h"
#include "engine/train/data/Dataset.h"
#include "engine/train/models/Model.h"

namespace lockstep::train {

/// Evaluates `model` on a set: rank r takes samples r, r + size, ..., each once, and one
/// allreduce of three doubles sums loss, right answers and targets, so that every rank returns
/// the same. A collective. Leaves the model in training mode. Throws CommError.
trace::EvaluationMessage evaluate(Model& model, const Dataset& data,
                                  process_group::ProcessGroup& group, std::int64_t batchSize,
                                  std::uint32_t step);

}  // namespace lockstep::train
