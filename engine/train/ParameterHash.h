#pragma once

#include <cstdint>
#include <string>

namespace torch::nn {
class Module;
}

namespace lockstep::train {

/// Returns 16 hex digits, XXH64 over every parameter in registration order: name, a zero byte,
/// dtype ("float32"), a zero byte, number of dimensions and each size as little-endian int64,
/// then the elements row-major. Equal on all ranks exactly when the replicas are equal, bit for
/// bit.
std::string parameterHash(const torch::nn::Module& model);

}  // namespace lockstep::train
