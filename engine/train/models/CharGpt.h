#pragma once

#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "engine/train/models/Model.h"

namespace lockstep::train {

/// A decoder-only transformer over characters: learned positions, pre-norm blocks with causal
/// attention and a GELU layer four times as wide, no dropout. Inputs [N, T] int64 with
/// T <= context; output [N, T, vocabulary]. (Radford et al., 2019)
class CharGpt : public Model {
 public:
  /// Whether a block's forward is forgotten and computed again in the backward
  /// (ddp/ActivationCheckpoint.h).
  enum class Checkpointing { kNone, kReentrant, kNonReentrant };

  struct Options {
    std::int64_t vocabulary = 0;
    std::int64_t context = 64;
    std::int64_t embedding = 128;
    std::int64_t heads = 4;  ///< divides embedding
    std::int64_t depth = 4;
    bool shareBlocks = false;  ///< one block, used depth times (Lan et al., 2020)
    Checkpointing checkpointing = Checkpointing::kNone;
  };
  explicit CharGpt(const Options& options);
  at::Tensor forward(at::Tensor input) override;

 private:
  at::Tensor runBlock(std::size_t index, const at::Tensor& x);

  std::int64_t depth_;
  Checkpointing checkpointing_;
  torch::nn::Embedding tokens_;
  torch::nn::Embedding positions_;
  torch::nn::ModuleList blocks_;
  torch::nn::LayerNorm norm_;
  torch::nn::Linear head_;
};

}  // namespace lockstep::train
