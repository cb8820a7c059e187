#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "engine/process_group/ProcessGroup.h"

namespace lockstep::ddp {

/// Returns every rank's `own`, alike in shape and type, by rank along a new first dimension.
/// Collective, as are all of these. Throw CommError.
at::Tensor gatherAll(process_group::ProcessGroup& group, const at::Tensor& own,
                     const process_group::CallOptions& options = {});

enum class Readers { kAll, kRank0 };

/// Returns every rank's `text`, by rank, to those who read it, and nothing elsewhere.
std::vector<std::string> gatherTexts(process_group::ProcessGroup& group, const std::string& text,
                                     Readers readers);

}  // namespace lockstep::ddp
