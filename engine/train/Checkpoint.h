#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/Result.h"

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace lockstep::train {

/// How far a run has come. With the seed it fixes everything that follows: the order of an
/// epoch depends on (seed, epoch), random numbers inside a step on (seed, rank, step).
struct Position {
  std::int64_t step = 0;     ///< steps done
  std::int64_t epoch = 0;    ///< of the next step
  std::int64_t samples = 0;  ///< samples of that epoch that all ranks together have seen
  std::int64_t seed = 0;
  bool operator==(const Position&) const = default;
};

// Note [The checkpoint]
// A safetensors file. Tensors: "model.<name>" for each parameter and buffer, and
// "optimizer.<parameter>.<part>" for what the optimizer keeps: momentum_buffer (sgd); exp_avg,
// exp_avg_sq and step, an int64 scalar (adam, adamw). Metadata: format "lockstep-checkpoint-2",
// optimizer, step, epoch, samples, seed, and checksum, the XXH64 of all else in it as 16
// hexadecimal digits (format 1 had none). With a hook that keeps a state: "hook.<rank>", uint8, for
// each rank what PluginHook::save() gave, and metadata hook, its name. Read in Python:
//   state = safetensors.torch.load_file(path)
//   model.load_state_dict({k[6:]: v for k, v in state.items() if k.startswith("model.")})

/// What a communication hook keeps, rank by rank.
struct SavedHook {
  std::string hook;  ///< its name; empty: there is none
  std::vector<std::string> ranks;
};

/// Writes model, optimizer, position and hook; atomically (writeSafetensors).
base::Status saveCheckpoint(const std::filesystem::path& path, const torch::nn::Module& model,
                            const torch::optim::Optimizer& optimizer, const Position& position,
                            const SavedHook& hook = {});

/// Copies a checkpoint into a model and an optimizer of the same kinds, and returns where to go
/// on. Every rank reads the file itself. Either everything is taken or, on an error, nothing.
/// Errors (kBadInput), naming the file and the tensor: what readSafetensors says, no checkpoint of
/// ours, another optimizer, a tensor that is missing, of another shape or dtype (expected and
/// found), or of no parameter.
base::Result<Position> loadCheckpoint(const std::filesystem::path& path, torch::nn::Module& model,
                                      torch::optim::Optimizer& optimizer);

/// Reads what a checkpoint holds of a hook; nothing when it was written without one. Errors: those
/// of readSafetensors, and tensors that are not as Note [The checkpoint] says.
base::Result<SavedHook> loadSavedHook(const std::filesystem::path& path);

}  // namespace lockstep::train
