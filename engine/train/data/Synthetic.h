#pragma once

#include "engine/train/data/Dataset.h"

namespace lockstep::train {

/// Makes a classification task that is the same on every rank: a class is a random mean, a
/// sample its class's mean plus noise of deviation 1; the means are far enough apart that a good
/// classifier is right nearly always. The test set has a quarter of `samples`, at least 1.
/// `shape` says what a sample is (float) and how many classes there are.
Datasets syntheticDatasets(const DataShape& shape, std::int64_t samples, std::int64_t seed);

}  // namespace lockstep::train
