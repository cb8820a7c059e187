#pragma once

#include <cstdint>

#include <lockstep/comm_hook.hpp>

#include "plugins/kernels/Kernels.h"

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
    const auto halves = view<std::uint16_t>(half);
    kernels_.toHalf(bucket.flat().data(), halves.data(), halves.size());
    const auto back = [this, run, bucket, halves] {
      kernels_.fromHalf(halves.data(), bucket.flat().data(), halves.size());
      run.complete();
    };
    if (const lockstep_ext_inner* inner = host().inner(); inner != nullptr) {
      run.inner(*inner, half, back);
    } else {
      kernels_.divide(halves.data(), static_cast<float>(bucket.divisor()), halves.size());
      run.allReduce(half, LOCKSTEP_SUM, back);
    }
    run.noMore();
  }

 private:
  const CastKernels kernels_;
};

}  // namespace lockstep::plugin
