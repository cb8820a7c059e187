#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/ddp/ModelState.h"

namespace lockstep::ddp {

/// In which dtypes a DistributedDataParallel computes and communicates (PyTorch's
/// _MixedPrecision). It concerns tensors of real floating-point numbers only; a dtype that is not
/// set leaves them as they are.
struct MixedPrecision {
  std::optional<at::ScalarType>
      paramDtype;  ///< of parameters, from a forward to its backward's end
  std::optional<at::ScalarType> reduceDtype;  ///< of buckets; not set: paramDtype
  std::optional<at::ScalarType> bufferDtype;  ///< of buffers, from construction on
  /// DistributedDataParallel::forward() casts its arguments to paramDtype.
  bool castForwardInputs = true;
  /// Averaged gradients are left in paramDtype, for an optimizer that takes them so.
  bool keepLowPrecisionGrads = false;
};

/// Throws DdpError for a dtype that is none of real floating-point numbers.
void checkMixedPrecision(const MixedPrecision& settings);
/// Returns the settings in one line, as the ranks compare them.
[[nodiscard]] std::string describe(const MixedPrecision& settings);

/// Lends a model its parameters in lower precision and keeps the full ones meanwhile. A parameter
/// stays the same tensor, and only what it holds is exchanged, so that modules, optimizers and
/// hooks keep what they point to; but autograd then has a new gradient accumulator for it.
/// The owner guards it.
class PrecisionSwitch {
 public:
  PrecisionSwitch(std::vector<NamedTensor> parameters, const MixedPrecision& settings);
  ~PrecisionSwitch() { restore(); }
  PrecisionSwitch(const PrecisionSwitch&) = delete;
  PrecisionSwitch& operator=(const PrecisionSwitch&) = delete;

  /// Gives every parameter a copy in paramDtype. Nothing when that is so already.
  void lower();
  /// Gives the full parameters back, and turns gradients to full precision unless they are to be
  /// kept. Nothing when that is so already.
  void restore();

  /// The dtype in which gradients of a parameter are reduced, and that they have afterwards;
  /// `full` is the parameter's own.
  [[nodiscard]] at::ScalarType reduceType(at::ScalarType full) const;
  [[nodiscard]] at::ScalarType gradientType(at::ScalarType full) const;

 private:
  const std::vector<NamedTensor> parameters_;
  const MixedPrecision settings_;
  std::vector<at::Tensor> full_;  // of each parameter while it is lowered; undefined: not lowered
};

}  // namespace lockstep::ddp
