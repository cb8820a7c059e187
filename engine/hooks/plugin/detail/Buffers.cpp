#include "engine/hooks/plugin/detail/Buffers.h"

#include <ATen/ATen.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace lockstep::hooks::detail {

namespace {

constexpr std::array<std::pair<std::int32_t, at::ScalarType>, 7> kDtypes{{
    {LOCKSTEP_F32, at::kFloat},
    {LOCKSTEP_F16, at::kHalf},
    {LOCKSTEP_BF16, at::kBFloat16},
    {LOCKSTEP_F64, at::kDouble},
    {LOCKSTEP_I32, at::kInt},
    {LOCKSTEP_I64, at::kLong},
    {LOCKSTEP_U8, at::kByte},
}};

}  // namespace

std::int32_t dtypeNumber(at::ScalarType type) {
  for (const auto& [number, known] : kDtypes) {
    if (known == type) {
      return number;
    }
  }
  return 0;
}

at::ScalarType dtypeOf(std::int32_t number) {
  for (const auto& [known, type] : kDtypes) {
    if (known == number) {
      return type;
    }
  }
  throw Unsupported(fmt::format("{} is no dtype", number));
}

lockstep_buffer bufferOf(const at::Tensor& tensor, void* stream) {
  if (!tensor.defined()) {
    return {};
  }
  return {tensor.data_ptr(), tensor.numel(), dtypeNumber(tensor.scalar_type()),
          tensor.is_cuda() ? LOCKSTEP_CUDA : LOCKSTEP_CPU,
          tensor.is_cuda() ? tensor.device().index() : 0, tensor.is_cuda() ? stream : nullptr};
}

at::Device deviceOf(const lockstep_buffer& buffer) {
  if (buffer.device == LOCKSTEP_CPU) {
    return c10::DeviceType::CPU;
  }
  if (buffer.device != LOCKSTEP_CUDA || !c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA)) {
    throw Unsupported(fmt::format("{} is no device of this build", buffer.device));
  }
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(buffer.device_index)};
}

at::Tensor tensorOf(const lockstep_buffer& buffer) {
  if (buffer.numel < 0 || (buffer.data == nullptr && buffer.numel > 0)) {
    throw std::invalid_argument(
        fmt::format("a buffer of {} elements at {}", buffer.numel, fmt::ptr(buffer.data)));
  }
  const auto options =
      at::TensorOptions().dtype(dtypeOf(buffer.dtype)).device(deviceOf(buffer));
  return buffer.numel == 0 ? at::empty({0}, options)
                           : at::from_blob(buffer.data, {buffer.numel}, options);
}

BucketView::BucketView(const GradBucket& bucket, void* stream)
    : ids_(bucket.parameterIndices()),
      offsets_(bucket.offsets()),
      lengths_(bucket.lengths()),
      shapes_(bucket.shapes()) {
  for (const auto& shape : shapes_) {
    shapePointers_.push_back(shape.data());
    dims_.push_back(static_cast<std::uint32_t>(shape.size()));
  }
  // By its size a plugin sees which fields this host knows: later ones are added at the end.
  raw_.struct_size = sizeof raw_;
  raw_.index = static_cast<std::uint32_t>(bucket.index());
  raw_.count = static_cast<std::uint32_t>(bucket.count());
  raw_.flags = (bucket.isLast() ? LOCKSTEP_BUCKET_LAST : 0) | 
               (bucket.facts().shadow ? LOCKSTEP_BUCKET_SHADOW : 0);
  raw_.step = bucket.step();
  raw_.layout = bucket.facts().layout;
  raw_.divisor = bucket.facts().divisor;
  raw_.flat = bufferOf(bucket.buffer(), stream);
  raw_.param_count = static_cast<std::uint32_t>(ids_.size());
  raw_.param_ids = ids_.data();
  raw_.offsets = offsets_.data();
  raw_.lengths = lengths_.data();
  raw_.dims = dims_.data();
  raw_.shapes = shapePointers_.data();
}

StepView::StepView(const std::vector<std::string>& names, const std::vector<at::Tensor>& parameters,
                   std::uint32_t step, void* stream) {
  // pointers_ points into it, and plugins keep those pointers during the call: it must not move.
  parameters_.reserve(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    lockstep_parameter& parameter = parameters_.emplace_back();
    parameter.struct_size = sizeof parameter;
    parameter.id = static_cast<std::uint32_t>(i);
    parameter.name = names[i].c_str();
    parameter.value = bufferOf(parameters[i], stream);
    parameter.gradient = bufferOf(parameters[i].grad(), stream);
    parameter.dims = static_cast<std::uint32_t>(parameters[i].dim());
    parameter.shape = parameters[i].sizes().data();
    pointers_.push_back(&parameter);
  }
  raw_.struct_size = sizeof raw_;
  raw_.param_count = static_cast<std::uint32_t>(parameters_.size());
  raw_.step = step;
  raw_.params = pointers_.data();
}

}  // namespace lockstep::hooks::detail
