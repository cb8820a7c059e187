#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <lockstep/comm_hook.h>

namespace lockstep::plugin {

class Error : public std::runtime_error {
 public:
  Error(lockstep_status status, const std::string& text)
      : std::runtime_error(text), status_(status) {}
  [[nodiscard]] lockstep_status status() const { return status_; }

 private:
  lockstep_status status_;
};

template <typename T>
struct DtypeOf;
template <>
struct DtypeOf<float> {
  static constexpr std::int32_t value = LOCKSTEP_F32;
};
template <>
struct DtypeOf<double> {
  static constexpr std::int32_t value = LOCKSTEP_F64;
};
template <>
struct DtypeOf<std::int32_t> {
  static constexpr std::int32_t value = LOCKSTEP_I32;
};
template <>
struct DtypeOf<std::int64_t> {
  static constexpr std::int32_t value = LOCKSTEP_I64;
};
template <>
struct DtypeOf<std::uint8_t> {
  static constexpr std::int32_t value = LOCKSTEP_U8;
};

constexpr std::size_t bytesOf(std::int32_t dtype) {
  switch (dtype) {
    case LOCKSTEP_F64:
    case LOCKSTEP_I64: return 8;
    case LOCKSTEP_F16:
    case LOCKSTEP_BF16: return 2;
    case LOCKSTEP_U8: return 1;
    default: return 4;
  }
}

/// Views a buffer as elements of T. Throws when its dtype is another; half types are read as
/// std::uint16_t, which takes both.
template <typename T>
std::span<T> view(const lockstep_buffer& buffer) {
  if constexpr (std::is_same_v<T, std::uint16_t>) {
    if (buffer.dtype != LOCKSTEP_F16 && buffer.dtype != LOCKSTEP_BF16) {
      throw Error(LOCKSTEP_E_UNSUPPORTED, "a buffer that holds no half type was taken for one");
    }
  } else if (buffer.dtype != DtypeOf<T>::value) {
    throw Error(LOCKSTEP_E_UNSUPPORTED, "a buffer of dtype " + std::to_string(buffer.dtype) +
                                            " was taken for dtype " +
                                            std::to_string(DtypeOf<T>::value));
  }
  return {static_cast<T*>(buffer.data), static_cast<std::size_t>(buffer.numel)};
}

/// Wraps memory of the hook's own, for a group's operation. It must outlive the operation.
template <typename T>
lockstep_buffer bufferOf(std::span<T> memory) {
  return {memory.data(), static_cast<std::int64_t>(memory.size()), DtypeOf<T>::value, LOCKSTEP_CPU,
          0, nullptr};
}

/// Returns `count` elements of `buffer`, from element `first` on.
inline lockstep_buffer part(const lockstep_buffer& buffer, std::int64_t first, std::int64_t count) {
  lockstep_buffer out = buffer;
  out.data = static_cast<char*>(buffer.data) +
             static_cast<std::size_t>(first) * bytesOf(buffer.dtype);
  out.numel = count;
  return out;
}

class Bucket {
 public:
  explicit Bucket(const lockstep_bucket* raw) : raw_(raw) {}
  [[nodiscard]] const lockstep_bucket& raw() const { return *raw_; }
  [[nodiscard]] std::uint32_t index() const { return raw_->index; }
  [[nodiscard]] std::uint64_t step() const { return raw_->step; }
  [[nodiscard]] std::uint64_t layout() const { return raw_->layout; }
  [[nodiscard]] bool isLast() const { return (raw_->flags & LOCKSTEP_BUCKET_LAST) != 0; }
  /// This rank has no inputs: gradients are zeros and the result is dropped.
  [[nodiscard]] bool isShadow() const { return (raw_->flags & LOCKSTEP_BUCKET_SHADOW) != 0; }
  /// The mean is the sum over ranks divided by this.
  [[nodiscard]] double divisor() const { return raw_->divisor; }
  [[nodiscard]] const lockstep_buffer& buffer() const { return raw_->flat; }
  /// Whether the gradients lie on a device, out of reach for spans.
  [[nodiscard]] bool onDevice() const { return raw_->flat.device != LOCKSTEP_CPU; }
  [[nodiscard]] std::int64_t numel() const { return raw_->flat.numel; }
  template <typename T = float>
  [[nodiscard]] std::span<T> flat() const {
    return view<T>(raw_->flat);
  }

  [[nodiscard]] std::uint32_t parameters() const { return raw_->param_count; }
  [[nodiscard]] std::uint32_t id(std::uint32_t i) const { return raw_->param_ids[i]; }
  [[nodiscard]] std::int64_t offset(std::uint32_t i) const { return raw_->offsets[i]; }
  [[nodiscard]] std::int64_t length(std::uint32_t i) const { return raw_->lengths[i]; }
  [[nodiscard]] std::span<const std::int64_t> shape(std::uint32_t i) const {
    return {raw_->shapes[i], raw_->dims[i]};
  }
  /// The gradient of parameter i of this bucket.
  template <typename T = float>
  [[nodiscard]] std::span<T> gradient(std::uint32_t i) const {
    return flat<T>().subspan(static_cast<std::size_t>(offset(i)),
                             static_cast<std::size_t>(length(i)));
  }

 private:
  const lockstep_bucket* raw_;
};

/// The gradient of parameter i of a bucket, wherever it lies.
inline lockstep_buffer gradientOf(const Bucket& bucket, std::uint32_t i) {
  return part(bucket.buffer(), bucket.offset(i), bucket.length(i));
}

class Step {
 public:
  explicit Step(const lockstep_step* raw) : raw_(raw) {}
  [[nodiscard]] std::uint64_t step() const { return raw_->step; }
  [[nodiscard]] std::uint32_t parameters() const { return raw_->param_count; }
  [[nodiscard]] const lockstep_parameter& parameter(std::uint32_t i) const {
    return *raw_->params[i];
  }
  template <typename T = float>
  [[nodiscard]] std::span<T> value(std::uint32_t i) const {
    return view<T>(parameter(i).value);
  }
  /// Empty when the parameter has no gradient.
  template <typename T = float>
  [[nodiscard]] std::span<T> gradient(std::uint32_t i) const {
    const lockstep_buffer& buffer = parameter(i).gradient;
    return buffer.data == nullptr ? std::span<T>() : view<T>(buffer);
  }

 private:
  const lockstep_step* raw_;
};

}  // namespace lockstep::plugin
