#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <vector>

namespace lockstep::train {

/// What one sample of a data set looks like; a model is made to fit it.
struct DataShape {
  std::vector<std::int64_t> sample;     ///< shape of one input, without the batch dimension
  c10::ScalarType dtype = c10::kFloat;  ///< of the input: kFloat, or kLong for characters
  /// Targets are in [0, classes): labels, or the vocabulary of a text. 0 = not known yet.
  std::int64_t classes = 0;

  [[nodiscard]] std::int64_t numel() const {
    std::int64_t product = 1;
    for (const auto size : sample) {
      product *= size;
    }
    return product;
  }
};

}  // namespace lockstep::train
