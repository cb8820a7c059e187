#pragma once

#include <vector>

#include "engine/base/Result.h"
#include "engine/import/JobClock.h"
#include "engine/import/WriteJob.h"

namespace lockstep::imports {

// Note [Traces behind one another]
// A profiler whose schedule repeats writes a file each time it has gone round, so that one rank has
// several, with a gap between any two in which nothing was recorded. They become one timeline, in
// the order of their times. What says that two are not of one profiler, or not of one job, is an
// error and not a guess: times or iterations that overlap, another host, another world. Gradients
// are numbers in a trace; those of a later one are taken for the first one's where they are as many
// and of the same sizes, and else left out. Iterations that each trace counts for itself, having no
// ProfilerStep, are counted on.

/// Makes one timeline of the traces of rank `rank`, at least one. Errors (kBadInput): a trace that
/// is not of the time, the iterations, the host or the world that would let it follow another.
base::Result<JobRank> joinTraces(int rank, std::vector<JobRank> traces);

/// A sentence on what lies between the traces of ranks that have several, once for all ranks whose
/// traces lie alike.
std::vector<JobProblem> gapsOf(const Job& job);

}  // namespace lockstep::imports
