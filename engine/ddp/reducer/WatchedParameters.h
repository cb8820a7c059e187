#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/buckets/BucketPlan.h"
#include "engine/ddp/ModelState.h"
#include "engine/ddp/TorchCompat.h"
#include "engine/ddp/UnusedSearch.h"
#include "engine/trace/Messages.h"

namespace lockstep::ddp {

/// The parameters that a Reducer reduces, by registration index, with a hook on the accumulator of
/// each one's gradient; and what they were when it was built. [step-thread]
class WatchedParameters {
 public:
  /// `parameters`: those with requires_grad, dense leaves, unique. `frozen`: the model's others.
  /// `sparse`: names of those whose gradients are sparse. Throws DdpError.
  WatchedParameters(std::vector<NamedTensor> parameters, std::vector<NamedTensor> frozen,
                    const std::vector<std::string>& sparse, int rank);
  ~WatchedParameters() { unwatch(); }
  WatchedParameters(const WatchedParameters&) = delete;
  WatchedParameters& operator=(const WatchedParameters&) = delete;

  [[nodiscard]] std::size_t size() const { return parameters_.size(); }
  [[nodiscard]] const std::vector<NamedTensor>& all() const { return parameters_; }
  [[nodiscard]] const at::Tensor& tensor(std::size_t index) const {
    return parameters_[index].tensor;
  }
  /// As every text names it: "'fc.weight' (3)".
  [[nodiscard]] std::string named(std::size_t index) const;
  [[nodiscard]] const std::vector<buckets::TensorSpec>& specs() const { return specs_; }
  [[nodiscard]] at::ScalarType builtType(std::size_t index) const { return built_[index].first; }
  /// Of the gradients.
  [[nodiscard]] at::Device device() const { return tensor(0).device(); }
  /// As the recorder gets them.
  [[nodiscard]] trace::ParametersMessage message() const;

  /// Calls `onGradient`, on the thread of the backward, when a gradient has been accumulated, or
  /// (false) an undefined one came. Again after parameters changed their dtype: they then have
  /// other accumulators.
  void watch(const std::function<void(std::size_t index, bool gradient)>& onGradient);
  void unwatch();
  [[nodiscard]] const Accumulators& accumulators() const { return accumulators_; }

  /// What a parameter has become since construction that cannot be reduced: another dtype or
  /// device, frozen, or thawed. A sentence; empty: nothing.
  [[nodiscard]] std::string change() const;
  /// The same of frozen ones alone.
  [[nodiscard]] std::string thawed() const;

 private:
  struct Watched {
    compat::NodePtr accumulator;
    std::uintptr_t key = 0;
  };

  void check() const;

  const std::vector<NamedTensor> parameters_;
  const std::vector<NamedTensor> frozen_;
  const int rank_;
  const std::vector<buckets::TensorSpec> specs_;
  std::vector<std::pair<at::ScalarType, at::Device>> built_;
  std::vector<Watched> watched_;
  Accumulators accumulators_;
};

}  // namespace lockstep::ddp
