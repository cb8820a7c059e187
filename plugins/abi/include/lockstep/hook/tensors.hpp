#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <cstdint>
#include <string>

#include <lockstep/hook/buffers.hpp>

/// Views as libtorch's tensors, for plugins that choose it: lockstep_add_hook(... TORCH). The
/// memory is the host's, so what a tensor's operators do in place is seen by it, and a view is
/// valid as long as what it views. comm_hook.hpp does not include this.
namespace lockstep::plugin {

inline at::ScalarType scalarType(std::int32_t dtype) {
  switch (dtype) {
    case LOCKSTEP_F32: return at::kFloat;
    case LOCKSTEP_F16: return at::kHalf;
    case LOCKSTEP_BF16: return at::kBFloat16;
    case LOCKSTEP_F64: return at::kDouble;
    case LOCKSTEP_I32: return at::kInt;
    case LOCKSTEP_I64: return at::kLong;
    case LOCKSTEP_U8: return at::kByte;
    default:
      throw Error(LOCKSTEP_E_UNSUPPORTED, "libtorch has no dtype " + std::to_string(dtype));
  }
}

inline at::Tensor tensor(const lockstep_buffer& buffer, at::IntArrayRef shape) {
  const auto device = buffer.device == LOCKSTEP_CUDA
                          ? at::Device(at::kCUDA, static_cast<at::DeviceIndex>(buffer.device_index))
                          : at::Device(at::kCPU);
  return at::from_blob(buffer.data, shape,
                       at::TensorOptions().dtype(scalarType(buffer.dtype)).device(device));
}

/// Flat.
inline at::Tensor tensor(const lockstep_buffer& buffer) {
  return tensor(buffer, {buffer.numel});
}

/// The gradient of parameter i of a bucket, in the parameter's shape.
inline at::Tensor gradientTensor(const Bucket& bucket, std::uint32_t i) {
  const auto shape = bucket.shape(i);
  return tensor(gradientOf(bucket, i), {shape.data(), shape.size()});
}

/// Parameter i of the model, in its shape.
inline at::Tensor valueTensor(const Step& step, std::uint32_t i) {
  const lockstep_parameter& parameter = step.parameter(i);
  return tensor(parameter.value, {parameter.shape, parameter.dims});
}

/// For a group's operation; the tensor is contiguous and outlives it.
inline lockstep_buffer bufferOf(const at::Tensor& tensor) {
  for (const std::int32_t dtype : {LOCKSTEP_F32, LOCKSTEP_F16, LOCKSTEP_BF16, LOCKSTEP_F64,
                                   LOCKSTEP_I32, LOCKSTEP_I64, LOCKSTEP_U8}) {
    if (scalarType(dtype) == tensor.scalar_type()) {
      if (!tensor.is_contiguous()) {
        throw Error(LOCKSTEP_E_ARGUMENT, "a tensor that is not contiguous was to be sent");
      }
      return {tensor.data_ptr(), tensor.numel(), dtype,
              tensor.is_cuda() ? LOCKSTEP_CUDA : LOCKSTEP_CPU,
              tensor.is_cuda() ? static_cast<std::int32_t>(tensor.get_device()) : 0, nullptr};
    }
  }
  throw Error(LOCKSTEP_E_UNSUPPORTED, "a tensor of a dtype that cannot be sent");
}

}  // namespace lockstep::plugin
