#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <lockstep/comm_hook.hpp>

#include "engine/kernels/Kernels.h"

namespace lockstep::plugin {

// The updates of SGD, Adam and AdamW for hooks that own them, for any part of a parameter, in the
// operations of torch::optim, in their order and rounded as libtorch rounds them.

/// An L2 penalty: gradients += decay * values.
inline void decayGradients(std::span<const float> values, std::span<float> gradients,
                           double decay) {
  if (decay != 0) {
    kernels::kernels().addScaledFused(gradients.data(), values.data(), static_cast<float>(decay),
                                      values.size());
  }
}

/// AdamW's: values shrink apart from the gradient.
inline void decayValues(std::span<float> values, double rate, double decay) {
  if (decay != 0) {
    kernels::kernels().scale(values.data(), static_cast<float>(1 - rate * decay), values.size());
  }
}

/// Exponential means of the gradients and of their squares.
inline void updateMoments(const lockstep_optimizer_info& adam, std::span<const float> gradients,
                          std::span<float> first, std::span<float> second) {
  const auto& loops = kernels::kernels();
  loops.scale(first.data(), static_cast<float>(adam.beta1), first.size());
  loops.addScaledFused(first.data(), gradients.data(), static_cast<float>(1 - adam.beta1),
                       first.size());
  loops.scale(second.data(), static_cast<float>(adam.beta2), second.size());
  loops.addSquaresFused(second.data(), gradients.data(), static_cast<float>(1 - adam.beta2),
                        second.size());
}

/// Steps by Adam's moments, each divided by its share of the whole: what its mean has gathered
/// since it was zero.
inline void moveByMoments(const lockstep_optimizer_info& adam, std::span<float> values,
                          std::span<const float> first, std::span<const float> second,
                          double firstShare, double secondShare) {
  const auto root = static_cast<float>(std::sqrt(secondShare));
  const auto epsilon = static_cast<float>(adam.epsilon);
  const auto rate = static_cast<float>(-(adam.learning_rate / firstShare));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] += rate * first[i] / (std::sqrt(second[i]) / root + epsilon);
  }
}

/// What `steps` steps have gathered in an exponential mean.
inline double shareAfter(double beta, std::uint64_t steps) {
  return 1 - std::pow(beta, static_cast<double>(steps));
}

/// What an optimizer keeps for some elements.
struct Moments {
  std::uint64_t steps = 0;
  std::vector<float> first;   // SGD's momentum, Adam's first moment
  std::vector<float> second;  // Adam's alone
};

inline void stepSgd(const lockstep_optimizer_info& sgd, std::span<float> values,
                    std::span<float> gradients, Moments& moments) {
  const auto& loops = kernels::kernels();
  const std::size_t size = values.size();
  decayGradients(values, gradients, sgd.weight_decay);
  if (sgd.momentum != 0) {
    const auto momentum = static_cast<float>(sgd.momentum);
    auto& kept = moments.first;
    if (moments.steps == 0) {
      kept.assign(gradients.begin(), gradients.end());  // undamped, as torch::optim starts it
    } else {
      loops.scale(kept.data(), momentum, size);
      loops.addScaledFused(kept.data(), gradients.data(), static_cast<float>(1 - sgd.dampening),
                           size);
    }
    if (sgd.nesterov != 0) {
      loops.addScaledFused(gradients.data(), kept.data(), momentum, size);
    } else {
      std::copy(kept.begin(), kept.end(), gradients.begin());
    }
  }
  loops.addScaledFused(values.data(), gradients.data(), static_cast<float>(-sgd.learning_rate),
                       size);
}

inline void stepAdam(const lockstep_optimizer_info& adam, std::span<float> values,
                     std::span<float> gradients, Moments& moments) {
  moments.first.resize(values.size(), 0.0F);
  moments.second.resize(values.size(), 0.0F);
  if (adam.kind == LOCKSTEP_ADAMW) {
    decayValues(values, adam.learning_rate, adam.weight_decay);
  } else {
    decayGradients(values, gradients, adam.weight_decay);
  }
  updateMoments(adam, gradients, moments.first, moments.second);
  moveByMoments(adam, values, moments.first, moments.second,
                shareAfter(adam.beta1, moments.steps + 1),
                shareAfter(adam.beta2, moments.steps + 1));
}

/// One step of some elements; `gradients` are used up.
inline void stepElements(const lockstep_optimizer_info& optimizer, std::span<float> values,
                         std::span<float> gradients, Moments& moments) {
  if (optimizer.kind == LOCKSTEP_SGD) {
    stepSgd(optimizer, values, gradients, moments);
  } else {
    stepAdam(optimizer, values, gradients, moments);
  }
  ++moments.steps;
}

}  // namespace lockstep::plugin
