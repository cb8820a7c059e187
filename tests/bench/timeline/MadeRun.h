#pragma once

#include <cstdint>
#include <filesystem>

#include "engine/base/Result.h"

namespace lockstep::bench {

/// A run of any length as training writes it, for measuring viewers: 4 ranks, 48 parameters in 6
/// buckets whose allreduces overlap the backward, one rank that comes late to each.
struct MadeRunOptions {
  std::uint64_t spans = 100'000;  ///< at least; the last iteration is whole
  int ranks = 4;
};

/// Writes it through the recorder's own writer into a new file, and returns how many spans.
base::Result<std::uint64_t> writeMadeRun(const std::filesystem::path& path,
                                         const MadeRunOptions& options);

}  // namespace lockstep::bench
