#include "engine/ddp/ScaledCopy.h"

#include <ATen/ATen.h>

#ifdef __x86_64__
#include <emmintrin.h>
#endif

namespace lockstep::ddp {
namespace {

#ifdef __x86_64__
void stream(float* to, const float* from, float factor, std::int64_t count) {
  std::int64_t i = 0;
  // Up to the first whole cache line: a streamed line goes out at once only if it is written whole.
  for (; i < count && (reinterpret_cast<std::uintptr_t>(to + i) & 63) != 0; ++i) {
    to[i] = from[i] * factor;
  }
  const __m128 factors = _mm_set1_ps(factor);
  for (; i + 16 <= count; i += 16) {  // a line at a time
    for (std::int64_t j = i; j < i + 16; j += 4) {
      _mm_stream_ps(to + j, _mm_mul_ps(_mm_loadu_ps(from + j), factors));
    }
  }
  for (; i < count; ++i) {
    to[i] = from[i] * factor;
  }
  _mm_sfence();  // such stores are in no order with those that say that the bucket is ready
}
#endif

}  // namespace

void scaledCopy(const at::Tensor& to, const at::Tensor& from, const at::Tensor& factor) {
#ifdef __x86_64__
  if (to.scalar_type() == at::kFloat && to.device().is_cpu() &&
      static_cast<std::int64_t>(to.nbytes()) >= kStreamedBytes &&
      to.is_non_overlapping_and_dense() && to.strides() == from.strides()) {
    stream(to.data_ptr<float>(), from.data_ptr<float>(), factor.item<float>(), to.numel());
    return;
  }
#endif
  at::Tensor out = to;
  at::mul_out(out, from, factor);
}

}  // namespace lockstep::ddp
