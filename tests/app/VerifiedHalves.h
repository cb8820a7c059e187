#pragma once

#include <filesystem>
#include <fstream>

#include "engine/plugin/VerifiedHooks.h"

namespace lockstep::cli {

/// Keeps the hook of a SleepingRun that `halves` in the cache of a folder, as if it had been
/// verified on 2 ranks: half of the bytes, and the same work on each bucket.
inline void keepVerifiedHalves(const std::filesystem::path& folder) {
  const std::filesystem::path library = folder / "fp16.so";
  std::ofstream(library) << "a library";
  plugin::Verification run;
  run.ranks = 2;
  run.gradientsSame = true;
  run.elements = 1 << 18;
  run.gradientBytes = 1 << 20;
  run.sentBytes = 1 << 19;
  run.calls = {{1 << 18, 0.5, 0.25}, {1 << 19, 0.5, 0.25}};
  plugin::keepVerified({library.string(), "fp16", {}}, true, {run},
                       (folder / "lockstep" / "verified.json").string());
}

}  // namespace lockstep::cli
