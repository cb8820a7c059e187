#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::hooks {

/// The model that a hook is tried on: seven parameters of 101,091 numbers, among them matrices, a
/// convolution, a scalar and odd lengths, with gradients that are random and known on all ranks.
class TrialModel {
 public:
  /// The parameters get the same values on every rank.
  explicit TrialModel(at::ScalarType dtype);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::vector<at::Tensor>& parameters() { return parameters_; }
  [[nodiscard]] std::vector<at::Tensor> copies() const;
  void setTo(const std::vector<at::Tensor>& values);

  /// The parameters of each bucket: in layout 0 as DDP cuts them before the first step, in layout
  /// 1 as it might have rebuilt them after that.
  static const std::vector<std::vector<std::uint32_t>>& buckets(std::uint32_t layout);

  /// A rank's gradients of one bucket, flat: normal numbers, which do not depend on the layout.
  [[nodiscard]] at::Tensor gradients(const std::vector<std::uint32_t>& bucket, int rank,
                                     std::uint32_t step) const;
  /// The mean of ranks 0 to `ranks`, in double precision.
  [[nodiscard]] at::Tensor mean(const std::vector<std::uint32_t>& bucket, int ranks,
                                std::uint32_t step) const;

  /// Where each parameter of a bucket begins in it, in elements, and how many it has.
  struct Places {
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> lengths;
    std::vector<std::vector<std::int64_t>> shapes;
  };
  [[nodiscard]] Places places(const std::vector<std::uint32_t>& bucket) const;

 private:
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;
};

}  // namespace lockstep::hooks
