#include "engine/process_group/HalfConversion.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lockstep::process_group::reduction {
namespace {

void convertOneByOne(const c10::Half* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = static_cast<float>(from[i]);
  }
}

void convertOneByOne(const float* from, c10::Half* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = c10::Half(from[i]);
  }
}

#if defined(__x86_64__)

const bool kHasF16c = __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");

__attribute__((target("avx,f16c"))) void convertByEight(const c10::Half* from, float* to,
                                                        std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
  }
  convertOneByOne(from + i, to + i, count - i);
}

__attribute__((target("avx,f16c"))) void convertByEight(const float* from, c10::Half* to,
                                                        std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
  }
  convertOneByOne(from + i, to + i, count - i);
}

#endif

}  // namespace

void convert(const c10::Half* from, float* to, std::size_t count) {
#if defined(__x86_64__)
  if (kHasF16c) {
    return convertByEight(from, to, count);
  }
#endif
  convertOneByOne(from, to, count);
}

void convert(const float* from, c10::Half* to, std::size_t count) {
#if defined(__x86_64__)
  if (kHasF16c) {
    return convertByEight(from, to, count);
  }
#endif
  convertOneByOne(from, to, count);
}

}  // namespace lockstep::process_group::reduction
