#pragma once

#include <cstdint>

#include <lockstep/comm_hook.hpp>

#include "engine/kernels/Kernels.h"

namespace lockstep::plugin {

/// The loops of one half type.
struct CastKernels {
  std::int32_t dtype;  ///< LOCKSTEP_F16, LOCKSTEP_BF16
  void (*toHalf)(const float* in, std::uint16_t* out, std::size_t n);
  void (*fromHalf)(const std::uint16_t* in, float* out, std::size_t n);
  void (*divide)(std::uint16_t* inout, float divisor, std::size_t n);
};

/// Averages in half precision: casts, divides (so that the sum cannot overflow), sums in the half
/// type, casts back; PyTorch's fp16_compress_hook and bf16_compress_hook, operation for operation.
/// Around another hook, that one averages the half buffer (fp16_compress_wrapper).
class CastHook : public Hook {
 public:
  CastHook(Host host, const CastKernels& kernels) : Hook(host), kernels_(kernels) {}

  void run(Run run, Bucket bucket) {
    const lockstep_buffer half = run.scratch(bucket.numel(), kernels_.dtype);
    toHalf(bucket, half);
    const auto back = [this, run, bucket, half] {
      fromHalf(half, bucket);
      run.complete();
    };
    if (const lockstep_ext_inner* inner = host().inner(); inner != nullptr) {
      run.inner(*inner, half, back);
    } else {
      divide(half, bucket.divisor());
      run.allReduce(half, LOCKSTEP_SUM, back);
    }
    run.noMore();
  }

 private:
  void toHalf(const Bucket& bucket, const lockstep_buffer& half) const {
    if (bucket.onDevice()) {
      Math(host()).copy(bucket.buffer(), half);
    } else {
      kernels_.toHalf(bucket.flat().data(), view<std::uint16_t>(half).data(), bucket.flat().size());
    }
  }
  void divide(const lockstep_buffer& half, double divisor) const {
    if (half.device != LOCKSTEP_CPU) {
      Math(host()).divide(half, divisor);
    } else {
      const auto halves = view<std::uint16_t>(half);
      kernels_.divide(halves.data(), static_cast<float>(divisor), halves.size());
    }
  }
  void fromHalf(const lockstep_buffer& half, const Bucket& bucket) const {
    if (bucket.onDevice()) {
      Math(host()).copy(half, bucket.buffer());
    } else {
      kernels_.fromHalf(view<std::uint16_t>(half).data(), bucket.flat().data(),
                        bucket.flat().size());
    }
  }

  const CastKernels kernels_;
};

}  // namespace lockstep::plugin
