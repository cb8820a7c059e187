#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "engine/plugin/HookChoice.h"
#include "engine/plugin/PyTorchComparison.h"

namespace lockstep::hooks {

// Note [A training to be repeated]
// engine/observer/python/lockstep/_hook_verify.py trains with a hook in PyTorch and writes, for
// each rank, what its buckets were: rank<r>.json and rank<r>.bin in one folder. The JSON object has
// `world`; `optimizer`, an object with `kind`, `learning_rate`, `momentum`, `weight_decay`,
// `beta1`, `beta2`, `epsilon`, or null; `sent_bytes`, which the hook's collectives sent in all; and
// `buckets`, in the order of their launches, each with `step`, `index`, `count`, `layout`, `ids`,
// `shapes` and `dtype` ("float32"). The other file has for each bucket the gradients as they went
// in and then the result as it came out, as they lie in memory.

struct ReplayOptions {
  plugin::ChosenHook hook;
  std::filesystem::path folder;
  std::chrono::milliseconds timeLimit{10000};  ///< for each result
};

/// Gives the same buckets to the engine's own host of the hook, on threads of this process over
/// Gloo, twice, and compares. What is wrong becomes the outcome's problems. A hook that crashes
/// takes the process with it. Note [When a replay agrees] in the .cpp.
plugin::PyTorchComparison replay(const ReplayOptions& options);

}  // namespace lockstep::hooks
