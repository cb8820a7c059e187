#include "engine/train/models/CharGpt.h"

#include <cmath>
#include <limits>
#include <memory>

#include "engine/ddp/ActivationCheckpoint.h"

namespace lockstep::train {
namespace {

using torch::nn::Embedding;
using torch::nn::Linear;

torch::nn::LayerNorm layerNorm(std::int64_t size) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({size}));
}

class Block : public torch::nn::Module {
 public:
  Block(const CharGpt::Options& options)
      : heads_(options.heads),
        norm1_(register_module("norm1", layerNorm(options.embedding))),
        qkv_(register_module("qkv", Linear(options.embedding, 3 * options.embedding))),
        projection_(register_module("projection", Linear(options.embedding, options.embedding))),
        norm2_(register_module("norm2", layerNorm(options.embedding))),
        up_(register_module("up", Linear(options.embedding, 4 * options.embedding))),
        down_(register_module("down", Linear(4 * options.embedding, options.embedding))),
        // -inf above the diagonal. Not a buffer: it is a constant, so DDP need not send it.
        mask_(at::full({options.context, options.context}, -std::numeric_limits<float>::infinity())
                  .triu(1)) {}

  at::Tensor forward(at::Tensor x) {
    x = x + attention(norm1_(x));
    return x + down_(at::gelu(up_(norm2_(x))));
  }

 private:
  at::Tensor attention(const at::Tensor& x) {
    const auto batch = x.size(0);
    const auto time = x.size(1);
    const auto width = x.size(2);
    const auto each = width / heads_;
    mask_ = mask_.to(x.device());  // the first time alone moves it
    // [3, N, heads, T, each]
    const auto parts = qkv_(x).view({batch, time, 3, heads_, each}).permute({2, 0, 3, 1, 4});
    const auto scores =
        at::matmul(parts[0], parts[1].transpose(-2, -1)) / std::sqrt(static_cast<double>(each)) +
        mask_.slice(0, 0, time).slice(1, 0, time);
    const auto mixed = at::matmul(at::softmax(scores, -1), parts[2]);
    return projection_(mixed.transpose(1, 2).reshape({batch, time, width}));
  }

  std::int64_t heads_;
  torch::nn::LayerNorm norm1_;
  torch::nn::Linear qkv_;
  torch::nn::Linear projection_;
  torch::nn::LayerNorm norm2_;
  torch::nn::Linear up_;
  torch::nn::Linear down_;
  at::Tensor mask_;
};

}  // namespace

CharGpt::CharGpt(const Options& options)
    : depth_(options.depth),
      checkpointing_(options.checkpointing),
      tokens_(register_module("tokens", Embedding(options.vocabulary, options.embedding))),
      positions_(register_module("positions", Embedding(options.context, options.embedding))),
      blocks_(register_module("blocks", torch::nn::ModuleList())),
      norm_(register_module("norm", layerNorm(options.embedding))),
      head_(register_module(
          "head",
          Linear(torch::nn::LinearOptions(options.embedding, options.vocabulary).bias(false)))) {
  for (std::int64_t i = 0; i < (options.shareBlocks ? 1 : depth_); ++i) {
    blocks_->push_back(std::make_shared<Block>(options));
  }
}

at::Tensor CharGpt::forward(at::Tensor input) {
  at::Tensor x = tokens_(input) + positions_(
      at::arange(input.size(1), at::TensorOptions(at::kLong).device(input.device())));
  for (std::int64_t i = 0; i < depth_; ++i) {
    x = runBlock(static_cast<std::size_t>(i) % blocks_->size(), x);
  }
  return head_(norm_(x));
}

at::Tensor CharGpt::runBlock(std::size_t index, const at::Tensor& x) {
  const auto block = blocks_->ptr<Block>(index);
  const ddp::Segment segment = [block](const std::vector<at::Tensor>& inputs) {
    return std::vector<at::Tensor>{block->forward(inputs.front())};
  };
  // The two ways of torch.utils.checkpoint, which fire DDP's hooks differently: reentrant ones run
  // a backward inside the backward.
  switch (checkpointing_) {
    case Checkpointing::kReentrant:
      return ddp::checkpointReentrant(segment, {x}).front();
    case Checkpointing::kNonReentrant:
      return ddp::checkpointNonReentrant(segment, {x}, block->parameters()).front();
    case Checkpointing::kNone:
      break;
  }
  return block->forward(x);
}

}  // namespace lockstep::train
