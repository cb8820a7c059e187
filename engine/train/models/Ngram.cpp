#include "engine/train/models/Ngram.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <vector>

namespace lockstep::train {
namespace {

constexpr std::int64_t kOrders = 4;
// An odd factor spreads neighbouring numbers; products stay below 2^63 as remainders are taken.
constexpr std::int64_t kFactor = 40'503;
constexpr std::int64_t kModulus = 2'147'483'647;

}  // namespace

Ngram::Ngram(std::int64_t vocabulary, std::int64_t rows, std::int64_t width, bool sparse)
    : rows_(rows),
      table_(register_module(
          "table", torch::nn::Embedding(torch::nn::EmbeddingOptions(rows, width).sparse(sparse)))),
      head_(register_module("head", torch::nn::Linear(width, vocabulary))) {}

// For each place the hashes of the last one, two, three and four characters, each a row of the
// table. A sample touches four rows a character, and so the gradient of a large table is sparse.
at::Tensor Ngram::rowsOf(const at::Tensor& input) const {
  std::vector<at::Tensor> rows;
  at::Tensor hash = at::zeros_like(input);
  for (std::int64_t order = 1; order <= kOrders; ++order) {
    // The character `order - 1` places back; before the start of a sample there is none.
    const at::Tensor character = at::zeros_like(input);
    const std::int64_t known = std::max<std::int64_t>(0, input.size(1) - order + 1);
    character.slice(1, input.size(1) - known).copy_(input.slice(1, 0, known) + 1);
    hash = at::remainder(hash * kFactor + character + order, kModulus);
    rows.push_back(at::remainder(hash * kFactor, rows_));
  }
  return at::stack(rows, -1);
}

at::Tensor Ngram::forward(at::Tensor input) {
  return head_(at::relu(table_(rowsOf(input)).sum(-2)));
}

}  // namespace lockstep::train
