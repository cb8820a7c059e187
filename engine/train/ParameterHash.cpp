#include "engine/train/ParameterHash.h"

#include <fmt/format.h>
#include <torch/nn/module.h>

#include "engine/ddp/TensorText.h"
#include "engine/base/Xxh64.h"

namespace lockstep::train {

std::string parameterHash(const torch::nn::Module& model) {
  base::Xxh64 hash;
  for (const auto& parameter : model.named_parameters()) {
    const at::Tensor values = parameter.value().detach().cpu().contiguous();
    const std::string dtype = ddp::dtypeName(values.scalar_type());
    // With the zero at its end, which keeps names apart.
    hash.update(parameter.key().c_str(), parameter.key().size() + 1);
    hash.update(dtype.c_str(), dtype.size() + 1);
    const std::int64_t dimensions = values.dim();
    hash.update(&dimensions, sizeof dimensions);
    hash.update(values.sizes().data(), values.sizes().size() * sizeof(std::int64_t));
    hash.update(values.data_ptr(), values.nbytes());
  }
  return fmt::format("{:016x}", hash.digest());
}

}  // namespace lockstep::train
