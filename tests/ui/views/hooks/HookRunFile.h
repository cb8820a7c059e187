#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/base/Result.h"

namespace lockstep::ui::test {

/// A run file whose numbers can be worked out on paper. Two ranks, one bucket of 40,000 bytes of
/// which 4,000 go into an allreduce. In each step rank 0 encodes for `encodeMs`, rank 1 for 2 ms
/// more; rank 0 waits for it; then `transferMs` for both, and 1 ms of decode. So a call takes
/// encodeMs + transferMs + 3 ms on either rank. Step 0 is the warm-up.
struct HookRunOptions {
  std::string hook = "topk";  ///< "allreduce": the engine's own, with no phase but communicate
  int encodeMs = 3;
  int transferMs = 4;
  std::uint32_t steps = 6;
  bool calls = true;    ///< false: no hook did anything
  bool observed = false;  ///< a job that was only recorded
  bool changed = true;  ///< density = 0.01 from step 3 on
};

base::Status writeHookRun(const std::filesystem::path& path, const HookRunOptions& options = {});

}  // namespace lockstep::ui::test
