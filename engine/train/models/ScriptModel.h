#pragma once

#include <filesystem>
#include <memory>

#include "engine/base/Result.h"
#include "engine/train/DataShape.h"
#include "engine/train/models/Model.h"

namespace lockstep::train {

/// Loads a TorchScript file (torch.jit.script(...).save(...)) as a model. Its parameters and
/// buffers are registered under their own names and share memory with the script; a
/// parameter that stands under several names is registered under the first.
/// The script takes a batch and returns logits; that is tried once with one zero sample, in
/// evaluation mode. Errors: kBadInput, naming the file.
base::Result<std::shared_ptr<Model>> loadScriptModel(const std::filesystem::path& file,
                                                     const DataShape& data);

}  // namespace lockstep::train
