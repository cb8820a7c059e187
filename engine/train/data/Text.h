#pragma once

#include <filesystem>
#include <string_view>

#include "engine/train/data/Dataset.h"

namespace lockstep::train {

/// Reads a text, plain or gzip, for next-character prediction. A character is a byte; the
/// vocabulary are the bytes that occur, in ascending order. The last tenth of the text is the
/// test set. Sample i is the `context` characters from i * context on; its target the same
/// shifted by one. Errors (kBadInput): unreadable, or too short for one sample in each set.
base::Result<Datasets> readText(const std::filesystem::path& file, std::int64_t context);

/// The same for a text in memory; `name` stands in messages.
base::Result<Datasets> textDatasets(std::string_view text, std::int64_t context,
                                    const std::string& name);

}  // namespace lockstep::train
