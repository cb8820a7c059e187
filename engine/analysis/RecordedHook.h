#pragma once

#include <filesystem>

#include "engine/analysis/HookTimes.h"
#include "engine/analysis/RecordedSteps.h"
#include "engine/base/Result.h"
#include "engine/cost/StepChange.h"

namespace lockstep::analysis {

/// Returns what the hook of a run does with its buckets: the part of the bytes that travels, or the
/// line of what its communication took, and its own work by the bucket's bytes. `times` are of the
/// same run, and empty for the engine's own allreduce. Error: a clause that ends "this run cannot
/// tell, because ...": nothing of it was recorded. [any-thread]
base::Result<cost::HookWork> hookWork(const RecordedSteps& recorded, const HookTimes& times);

/// A hook as a run had it.
struct RecordedHook {
  RecordedSettings settings;  ///< of that run
  cost::HookWork work;
};

/// Reads the hook of a run file. Errors: those of readRecordedSteps(), and clauses as above.
base::Result<RecordedHook> readRecordedHook(const std::filesystem::path& path);

/// Sets the hook of `change` to that of another run. Error: a clause as above: it had other ranks.
base::Status changeHook(const RecordedSettings& settings, const RecordedHook& hook,
                        cost::StepChange& change);

}  // namespace lockstep::analysis
