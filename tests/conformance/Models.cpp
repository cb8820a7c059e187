#include "tests/conformance/Models.h"

#include <torch/torch.h>

#include "tests/conformance/Driver.h"

namespace lockstep::conformance {

namespace nn = torch::nn;

nn::Sequential buildModel(const std::string& kind) {
  if (kind == "mlp") {
    return nn::Sequential(nn::Linear(64, 96), nn::ReLU(), nn::Linear(96, 64), nn::ReLU(),
                          nn::Linear(64, 48), nn::ReLU(), nn::Linear(48, 10));
  }
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 6, 3)), nn::BatchNorm2d(6), nn::ReLU(),
                        nn::MaxPool2d(2), nn::Conv2d(nn::Conv2dOptions(6, 16, 3)), nn::ReLU(),
                        nn::MaxPool2d(2), nn::Flatten(), nn::Linear(64, 48), nn::ReLU(),
                        nn::Linear(48, 10));
}

std::vector<double> numbers(const std::vector<at::Tensor>& tensors) {
  std::vector<double> list;
  for (const at::Tensor& tensor : tensors) {
    append(tensor, list);
  }
  return list;
}

}  // namespace lockstep::conformance
