#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/train/models/Model.h"

namespace lockstep::train {

/// One parameter of a model that is known by shapes and times alone.
struct ShapedLayer {
  std::string name;
  std::vector<std::int64_t> shape;
  c10::ScalarType dtype = c10::kFloat;
  double forwardUs = 0;
  double backwardUs = 0;
};

/// Stands in for a model too big to compute here, so that its communication can be studied:
/// every layer waits its forward and backward time (asleep, so that ranks sharing a core do not
/// slow each other) and gives a gradient of the right shape and dtype. A gradient is the mean
/// of the rank's batch in every element; the loss means nothing.
class ShapesModel : public Model {
 public:
  explicit ShapesModel(std::vector<ShapedLayer> layers);
  at::Tensor forward(at::Tensor input) override;
  [[nodiscard]] at::Tensor loss(const at::Tensor& output, const at::Tensor& target) const override;
  [[nodiscard]] bool hasClasses() const override { return false; }

 private:
  std::vector<ShapedLayer> layers_;
  std::vector<at::Tensor> weights_;
};

/// Reads {"layers": [{"name": "fc.weight", "shape": [10, 5], "dtype": "float32",
/// "forward_us": 100, "backward_us": 200}, ...]}; dtype is float32 (default), float64, float16
/// or bfloat16, times default to 0. Errors: kBadInput, naming the file, the layer and the member.
base::Result<std::vector<ShapedLayer>> readShapes(const std::filesystem::path& file);

}  // namespace lockstep::train
