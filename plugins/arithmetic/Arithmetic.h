#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include <lockstep/comm_hook.hpp>

#include "engine/kernels/Kernels.h"

namespace lockstep::plugin {

/// Loops over float32 buffers: the plugin's own on the CPU, the host's on a device. Buffers of one
/// call lie on one device and are equally long.
class Arithmetic {
 public:
  /// `like`: what lies where the others will.
  Arithmetic(Host host, const lockstep_buffer& like) {
    if (like.device != LOCKSTEP_CPU) {
      math_.emplace(host);
    }
  }

  /// The host's, on a device.
  [[nodiscard]] const std::optional<Math>& math() const { return math_; }

  void copy(const lockstep_buffer& in, const lockstep_buffer& out) const {
    if (math_) {
      math_->copy(in, out);
    } else {
      std::ranges::copy(view<float>(in), view<float>(out).begin());
    }
  }
  void fill(const lockstep_buffer& out, float value) const {
    if (math_) {
      math_->fill(out, value);
    } else {
      std::ranges::fill(view<float>(out), value);
    }
  }
  void scale(const lockstep_buffer& inout, float factor) const {
    if (math_) {
      math_->multiply(inout, factor);
    } else {
      kernels::kernels().scale(view<float>(inout).data(), factor, sizeOf(inout));
    }
  }
  void addScaled(const lockstep_buffer& inout, const lockstep_buffer& in, float factor) const {
    if (math_) {
      math_->addScaled(inout, in, factor);
    } else {
      kernels::kernels().addScaled(view<float>(inout).data(), view<float>(in).data(), factor,
                                   sizeOf(inout));
    }
  }

  /// What lies in `buffer`, for the CPU: the buffer itself where it lies there, else a copy in
  /// `room`, for which the device is waited for.
  [[nodiscard]] std::span<float> fetch(const lockstep_buffer& buffer,
                                       std::vector<float>& room) const {
    if (!math_) {
      return view<float>(buffer);
    }
    room.resize(sizeOf(buffer));
    math_->copy(buffer, bufferOf(std::span(room)));
    return room;
  }
  /// Puts back what was fetched and changed.
  void store(std::span<float> fetched, const lockstep_buffer& buffer) const {
    if (math_) {
      math_->copy(bufferOf(fetched), buffer);
    }
  }

 private:
  static std::size_t sizeOf(const lockstep_buffer& buffer) {
    return static_cast<std::size_t>(buffer.numel);
  }

  std::optional<Math> math_;
};

}  // namespace lockstep::plugin
