#pragma once

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include "engine/train/models/Model.h"

namespace lockstep::train {

/// Predicts the next character from the last one, two, three and four: each of these n-grams is
/// hashed to a row of one table, and the sum of the rows, through a ReLU and a linear layer, gives
/// the logits. Inputs [N, T] int64; output [N, T, vocabulary]. A batch touches few rows, so
/// that with `sparse` the table's gradient is far smaller than the table. (Hashed n-grams as in
/// Joulin et al., 2017.)
class Ngram : public Model {
 public:
  Ngram(std::int64_t vocabulary, std::int64_t rows, std::int64_t width, bool sparse);
  at::Tensor forward(at::Tensor input) override;

 private:
  /// Returns the rows of each position's n-grams, [N, T, kOrders].
  [[nodiscard]] at::Tensor rowsOf(const at::Tensor& input) const;

  std::int64_t rows_;
  torch::nn::Embedding table_;
  torch::nn::Linear head_;
};

}  // namespace lockstep::train
