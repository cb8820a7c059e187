#pragma once

#include <filesystem>

#include "engine/train/data/Dataset.h"

namespace lockstep::train {

/// Reads the four files of MNIST's layout from a folder: {train,t10k}-images-idx3-ubyte and
/// {train,t10k}-labels-idx1-ubyte, each plain or with ".gz". Inputs are [1, H, W], scaled to
/// 0..1 and normalised by MNIST's mean 0.1307 and deviation 0.3081; classes are the largest
/// label plus one. Errors (kBadInput): a missing or damaged file, counts that differ, test
/// pictures of another size than the training pictures.
base::Result<Datasets> readMnist(const std::filesystem::path& folder);

}  // namespace lockstep::train
