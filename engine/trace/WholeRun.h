#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>

#include "engine/trace/RunFile.h"

namespace lockstep::trace {

/// Hands over all that a run file holds now, a batch of spans at a time, on the thread that calls.
/// Those of a batch come rank by rank (Note [Ranks together]). Errors: those of RunFileReader.
base::Status readWholeRun(const std::filesystem::path& path,
                          const std::function<void(RunUpdate&)>& take);
/// The same of what is new to a reader, in the order of the file.
base::Status readWholeRun(RunFileReader& reader, const std::function<void(RunUpdate&)>& take,
                          std::size_t spansAtOnce = 100'000);

}  // namespace lockstep::trace
