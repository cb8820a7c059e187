#pragma once

#include <string>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::train {

/// Sets how many threads libtorch and its BLAS compute with in this process. Call it before the
/// first tensor operation.
void setComputeThreads(int threads);

/// Ties this thread, and every thread it starts from now on, to `threads` cores of those this
/// process may use: the localRank-th group of that size, starting over when they run out.
/// Returns the cores. Error (kEnvironment): the system refuses.
base::Result<std::vector<int>> pinToCores(int localRank, int threads);

}  // namespace lockstep::train
