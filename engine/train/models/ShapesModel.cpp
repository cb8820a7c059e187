#include "engine/train/models/ShapesModel.h"

#include <torch/csrc/autograd/custom_function.h>

#include <chrono>
#include <thread>

#include "engine/train/models/DottedNames.h"

namespace lockstep::train {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point after(double microseconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double, std::micro>(microseconds));
}

/// Passes its input on. The gradient's own cost counts as part of the layer's time.
struct TimedLayer : public torch::autograd::Function<TimedLayer> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, double forwardUs, double backwardUs) {
    // From here, so that what this function itself costs is within the layer's time.
    const auto end = after(forwardUs);
    context->saved_data["shape"] = weight.sizes();
    context->saved_data["dtype"] = static_cast<std::int64_t>(weight.scalar_type());
    context->saved_data["backward_us"] = backwardUs;
    context->save_for_backward({input});
    at::Tensor output = input.clone();
    std::this_thread::sleep_until(end);
    return output;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto end = after(context->saved_data["backward_us"].toDouble());
    const at::Tensor value = gradients[0] * context->get_saved_variables()[0];
    const auto dtype = static_cast<c10::ScalarType>(context->saved_data["dtype"].toInt());
    at::Tensor weightGradient =
        // A gradient of the layer's size with the same number everywhere: it costs one pass over
        // memory, as a real one would, and no multiplication. The number depends on the input, so
        // that ranks differ.
        at::full(context->saved_data["shape"].toIntVector(), value.item(),
                 at::TensorOptions(dtype).device(value.device()));
    std::this_thread::sleep_until(end);
    return {gradients[0], weightGradient, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

ShapesModel::ShapesModel(std::vector<ShapedLayer> layers) : layers_(std::move(layers)) {
  for (const auto& layer : layers_) {
    weights_.push_back(at::zeros(layer.shape, at::TensorOptions(layer.dtype)).requires_grad_(true));
    registerParameterAt(*this, layer.name, weights_.back());
  }
}

at::Tensor ShapesModel::forward(at::Tensor input) {
  at::Tensor x = input.to(at::kFloat).mean();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    x = TimedLayer::apply(x, weights_[i], layers_[i].forwardUs, layers_[i].backwardUs);
  }
  return x;
}

at::Tensor ShapesModel::loss(const at::Tensor& output, const at::Tensor&) const {
  return output;
}

}  // namespace lockstep::train
