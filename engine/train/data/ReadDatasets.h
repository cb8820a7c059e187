#pragma once

#include <filesystem>
#include <string_view>

#include "engine/train/data/Dataset.h"

namespace lockstep::train {

/// Reads the four files of MNIST's layout from a folder: {train,t10k}-images-idx3-ubyte and
/// {train,t10k}-labels-idx1-ubyte, each plain or with ".gz". Inputs are [1, H, W], scaled to
/// 0..1 and normalised by MNIST's mean 0.1307 and deviation 0.3081; classes are the largest
/// label plus one. Errors (kBadInput): a missing or damaged file, counts that differ, test
/// pictures of another size than the training pictures.
base::Result<Datasets> readMnist(const std::filesystem::path& folder);

/// Makes a classification task that is the same on every rank: a class is a random mean, a
/// sample its class's mean plus noise of deviation 1; the means are far enough apart that a good
/// classifier is right nearly always. The test set has a quarter of `samples`, at least 1.
/// `shape` says what a sample is (float) and how many classes there are.
Datasets syntheticDatasets(const DataShape& shape, std::int64_t samples, std::int64_t seed);

/// Reads a text, plain or gzip, for next-character prediction. A character is a byte; the
/// vocabulary are the bytes that occur, in ascending order. The last tenth of the text is the
/// test set. Sample i is the `context` characters from i * context on; its target the same
/// shifted by one. Errors (kBadInput): unreadable, or too short for one sample in each set.
base::Result<Datasets> readText(const std::filesystem::path& file, std::int64_t context);

/// The same for a text in memory; `name` stands in messages.
base::Result<Datasets> textDatasets(std::string_view text, std::int64_t context,
                                    const std::string& name);

}  // namespace lockstep::train
