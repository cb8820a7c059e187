#include "engine/ddp/MixedPrecision.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <utility>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/TensorText.h"

namespace lockstep::ddp {

void checkMixedPrecision(const MixedPrecision& settings) {
  const auto check = [](const char* what, const std::optional<at::ScalarType>& type) {
    if (type.has_value() && !at::isFloatingType(*type)) {
      throw DdpError(fmt::format(
          "mixed_precision: {} is {}; it must be a dtype of real floating-point numbers, such as "
          "bfloat16",
          what, dtypeName(*type)));
    }
  };
  check("param_dtype", settings.paramDtype);
  check("reduce_dtype", settings.reduceDtype);
  check("buffer_dtype", settings.bufferDtype);
}

std::string describe(const MixedPrecision& settings) {
  const auto text = [](const std::optional<at::ScalarType>& type) {
    return type.has_value() ? dtypeName(*type) : std::string("as it is");
  };
  return fmt::format(
      "param_dtype {}, reduce_dtype {}, buffer_dtype {}, keep_low_precision_grads {}",
      text(settings.paramDtype), text(settings.reduceDtype), text(settings.bufferDtype),
      settings.keepLowPrecisionGrads ? "on" : "off");
}

PrecisionSwitch::PrecisionSwitch(std::vector<NamedTensor> parameters,
                                 const MixedPrecision& settings)
    : parameters_(std::move(parameters)), settings_(settings), full_(parameters_.size()) {}

void PrecisionSwitch::lower() {
  if (!settings_.paramDtype.has_value()) {
    return;
  }
  at::NoGradGuard noGrad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& parameter = parameters_[i].tensor;
    // Not lowered yet: else the low copy would be kept as the full one, and the weights be lost.
    if (!full_[i].defined() && at::isFloatingType(parameter.scalar_type()) &&
        parameter.scalar_type() != *settings_.paramDtype) {
      full_[i] = parameter.variable_data();
      parameter.set_data(full_[i].to(*settings_.paramDtype));
    }
  }
}

void PrecisionSwitch::restore() {
  at::NoGradGuard noGrad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!full_[i].defined()) {
      continue;
    }
    const at::Tensor& parameter = parameters_[i].tensor;
    // By set_data() modules and optimizers keep the tensor they know; autograd makes a new
    // accumulator when the dtype changes, so that the Reducer has to set its hooks anew.
    parameter.set_data(std::exchange(full_[i], at::Tensor()));
    at::Tensor& gradient = parameter.mutable_grad();
    if (gradient.defined() && !settings_.keepLowPrecisionGrads) {
      gradient = gradient.to(parameter.scalar_type());
    }
  }
}

at::ScalarType PrecisionSwitch::reduceType(at::ScalarType full) const {
  if (!at::isFloatingType(full)) {
    return full;
  }
  // Gradients are computed in paramDtype, and travel in it unless told otherwise.
  return settings_.reduceDtype.value_or(settings_.paramDtype.value_or(full));
}

at::ScalarType PrecisionSwitch::gradientType(at::ScalarType full) const {
  if (!at::isFloatingType(full) || !settings_.keepLowPrecisionGrads) {
    return full;
  }
  return settings_.paramDtype.value_or(full);
}

}  // namespace lockstep::ddp
