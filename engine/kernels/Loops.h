// The loops themselves. Included once for each instruction set, within a namespace of its own and
// with the compiler's flags for it: plain code in blocks that the compiler makes vectors of. What
// the compiler cannot see through, conversions of fp16, is written with intrinsics.

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/kernels/Kernels.h"

namespace lockstep::kernels::LOCKSTEP_INSTRUCTION_SET {

namespace {

// As many floats as the widest vectors hold (AVX-512). Sums and extremes are kept in as many lanes,
// which do not depend on each other.
constexpr std::size_t kBlock = 16;

inline std::uint32_t bitsOf(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

inline std::uint32_t magnitudeOf(float x) {
  return bitsOf(x) & 0x7FFFFFFFU;
}

inline float halfToFloat(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000U) << 16;
  const std::uint32_t rest = h & 0x7FFFU;
  if (rest >= 0x7C00U) {  // infinite, or NaN, which becomes quiet
    const std::uint32_t quiet = rest > 0x7C00U ? 0x00400000U : 0U;
    return std::bit_cast<float>(sign | 0x7F800000U | (rest & 0x3FFU) << 13 | quiet);
  }
  // Times 2^112, as the exponents count from 127 and from 15. Exact for subnormal numbers, too: the
  // multiplication normalises them.
  const float scaled = std::bit_cast<float>(rest << 13) * std::bit_cast<float>(0x77800000U);
  return std::bit_cast<float>(bitsOf(scaled) | sign);
}

inline std::uint16_t floatToHalf(float x) {
  const std::uint32_t bits = bitsOf(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t rest = bits & 0x7FFFFFFFU;
  if (rest > 0x7F800000U) {
    return static_cast<std::uint16_t>(sign | 0x7E00U | (rest >> 13 & 0x3FFU));
  }
  if (rest >= 0x477FF000U) {  // rounds to what fp16 cannot hold
    return static_cast<std::uint16_t>(sign | 0x7C00U);
  }
  if (rest < 0x38800000U) {  // subnormal in fp16: the addition rounds at its last place
    // A float between 0.5 and 1 has steps of 2^-24, fp16's smallest number: the addition rounds to
    // it, ties to even, and leaves it in the lowest bits.
    const float shifted = std::bit_cast<float>(rest) + 0.5F;
    return static_cast<std::uint16_t>(sign | (bitsOf(shifted) - 0x3F000000U));
  }
  // Ties to even: half a step less one is added, and one more where the last bit that stays is set.
  const std::uint32_t rounded = rest + 0xFFFU + (rest >> 13 & 1U);
  return static_cast<std::uint16_t>(sign | (rounded - 0x38000000U) >> 13);
}

inline std::uint16_t floatToBfloat16(float x) {
  const std::uint32_t bits = bitsOf(x);
  const std::uint32_t rounded = bits + 0x7FFFU + (bits >> 16 & 1U);
  const bool nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return static_cast<std::uint16_t>((nan ? bits | 0x00400000U : rounded) >> 16);
}

inline float bfloat16ToFloat(std::uint16_t b) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16);
}

void toHalf(const float* in, std::uint16_t* out, std::size_t n) {
  std::size_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  }
#endif
  for (; i < n; ++i) {
    out[i] = floatToHalf(in[i]);
  }
}

void fromHalf(const std::uint16_t* in, float* out, std::size_t n) {
  std::size_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(out + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  }
#endif
  for (; i < n; ++i) {
    out[i] = halfToFloat(in[i]);
  }
}

/// Runs `change` over blocks of floats made from half types and back.
template <auto toFloat, auto fromFloat, typename Change>
inline void throughFloat(std::uint16_t* inout, std::size_t n, Change change) {
  constexpr std::size_t kChunk = 256;
  float block[kChunk];
  for (std::size_t i = 0; i < n; i += kChunk) {
    const std::size_t count = n - i < kChunk ? n - i : kChunk;
    toFloat(inout + i, block, count);
    change(block, i, count);
    fromFloat(block, inout + i, count);
  }
}

void divideHalf(std::uint16_t* inout, float divisor, std::size_t n) {
  throughFloat<fromHalf, toHalf>(inout, n, [divisor](float* x, std::size_t, std::size_t count) {
    for (std::size_t j = 0; j < count; ++j) {
      x[j] /= divisor;
    }
  });
}

/// Sums blocks of floats made from half types. NaN gets the bits `kNan`: which of two that meet
/// lives on is the compiler's choice.
template <auto toFloat, auto fromFloat, std::uint32_t kNan>
inline void sumThroughFloat(const void* const* sources, int count, std::uint16_t* out,
                            std::size_t n, float divisor) {
  constexpr std::size_t kChunk = 512;
  const auto source = [&](int s) { return static_cast<const std::uint16_t*>(sources[s]); };
  float total[kChunk];
  float next[kChunk];
  for (std::size_t i = 0; i < n; i += kChunk) {
    const std::size_t size = n - i < kChunk ? n - i : kChunk;
    toFloat(source(0) + i, total, size);
    for (int s = 1; s < count; ++s) {
      toFloat(source(s) + i, next, size);
      for (std::size_t j = 0; j < size; ++j) {
        total[j] += next[j];
      }
    }
    if (divisor != 1.0F) {
      for (std::size_t j = 0; j < size; ++j) {
        total[j] /= divisor;
      }
    }
    for (std::size_t j = 0; j < size; ++j) {
      total[j] = total[j] != total[j] ? std::bit_cast<float>(kNan) : total[j];
    }
    fromFloat(total, out + i, size);
  }
}

void sumHalf(const void* const* sources, int count, std::uint16_t* out, std::size_t n,
             float divisor) {
  sumThroughFloat<fromHalf, toHalf, 0x7FFFFFFFU>(sources, count, out, n, divisor);
}

void toBfloat16(const float* in, std::uint16_t* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = floatToBfloat16(in[i]);
  }
}

void fromBfloat16(const std::uint16_t* in, float* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = bfloat16ToFloat(in[i]);
  }
}

void divideBfloat16(std::uint16_t* inout, float divisor, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    inout[i] = floatToBfloat16(bfloat16ToFloat(inout[i]) / divisor);
  }
}

void sumBfloat16(const void* const* sources, int count, std::uint16_t* out, std::size_t n,
                 float divisor) {
  sumThroughFloat<fromBfloat16, toBfloat16, 0x7FC00000U>(sources, count, out, n, divisor);
}

void scale(float* inout, float factor, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    inout[i] *= factor;
  }
}

void add(float* to, const float* from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    to[i] += from[i];
  }
}

void addScaled(float* to, const float* from, float factor, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    to[i] += factor * from[i];
  }
}

void addScaledFused(float* to, const float* from, float factor, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    to[i] = std::fma(factor, from[i], to[i]);
  }
}

void addSquaresFused(float* to, const float* from, float factor, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    to[i] = std::fma(factor * from[i], from[i], to[i]);
  }
}

void range(const float* in, std::size_t n, float* least, float* greatest) {
  float low[kBlock];
  float high[kBlock];
  std::uint32_t nan[kBlock] = {};
  for (std::size_t j = 0; j < kBlock; ++j) {
    low[j] = INFINITY;
    high[j] = -INFINITY;
  }
  const auto take = [&](std::size_t j, float x) {
    // A comparison with NaN is false, so that it would go unseen: it is noted beside.
    low[j] = x < low[j] ? x : low[j];
    high[j] = x > high[j] ? x : high[j];
    nan[j] |= x != x ? 1U : 0U;
  };
  std::size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    for (std::size_t j = 0; j < kBlock; ++j) {
      take(j, in[i + j]);
    }
  }
  for (; i < n; ++i) {
    take(0, in[i]);
  }
  *least = low[0];
  *greatest = high[0];
  for (std::size_t j = 1; j < kBlock; ++j) {
    *least = low[j] < *least ? low[j] : *least;
    *greatest = high[j] > *greatest ? high[j] : *greatest;
    nan[0] |= nan[j];
  }
  if (nan[0] != 0) {
    *least = *greatest = NAN;
  }
}

/// The sum of what `term` says of each of n places: in lanes, over runs short enough for them.
template <typename Lane, typename Total, std::size_t kRun, typename Term>
Total sumOf(std::size_t n, const Term& term) {
  Total total = 0;
  std::size_t i = 0;
  while (i < n) {
    Lane lanes[kBlock] = {};
    const std::size_t end = n - i < kRun ? n : i + kRun;
    for (; i + kBlock <= end; i += kBlock) {
      for (std::size_t j = 0; j < kBlock; ++j) {
        lanes[j] += term(i + j);
      }
    }
    for (; i < end; ++i) {
      lanes[0] += term(i);
    }
    for (const Lane lane : lanes) {
      total += lane;
    }
  }
  return total;
}

constexpr std::size_t kFloats = 4096;                // that a lane in fp32 may add up
constexpr std::size_t kOnes = std::size_t{1} << 20;  // that one of whole numbers may

double absoluteSum(const float* in, std::size_t n) {
  return sumOf<float, double, kFloats>(
      n, [in](std::size_t i) { return std::bit_cast<float>(magnitudeOf(in[i])); });
}

double dot(const float* a, const float* b, std::size_t n) {
  return sumOf<float, double, kFloats>(n, [a, b](std::size_t i) { return a[i] * b[i]; });
}

void quantize(const float* in, std::uint8_t* out, std::size_t n, float inverseScale, float zero) {
  for (std::size_t i = 0; i < n; ++i) {
    float q = std::nearbyint(in[i] * inverseScale) + zero;
    // In this form NaN becomes 0.
    q = q > 0.0F ? q : 0.0F;
    q = q < 255.0F ? q : 255.0F;
    out[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(q));
  }
}

void addQuantized(const std::uint8_t* in, float* to, std::size_t n, float scale, float zero) {
  for (std::size_t i = 0; i < n; ++i) {
    to[i] += (static_cast<float>(in[i]) - zero) * scale;
  }
}

/// Spreads the bits of x over a number that looks random ("lowbias32", C. Wellons, 2018).
inline std::uint32_t scattered(std::uint32_t x) {
  x = (x ^ x >> 16) * 0x7FEB352DU;
  x = (x ^ x >> 15) * 0x846CA68BU;
  return x ^ x >> 16;
}

void quantizeAtRandom(const float* in, std::int8_t* out, std::size_t n, float toLevels,
                      float levels, std::uint32_t seed) {
  for (std::size_t i = 0; i < n; ++i) {
    // 24 bits, as many as a float in [0, 1) holds.
    const std::uint32_t bits = scattered(seed + static_cast<std::uint32_t>(i)) >> 8;
    const float drawn = static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-24F;
    const float level = std::bit_cast<float>(magnitudeOf(in[i])) * toLevels;
    const auto below = static_cast<float>(static_cast<std::int32_t>(level));
    float rounded = below + (drawn < level - below ? 1.0F : 0.0F);
    rounded = rounded < levels ? rounded : levels;
    const auto whole = static_cast<std::int32_t>(rounded);
    out[i] = static_cast<std::int8_t>(bitsOf(in[i]) >> 31 != 0 ? -whole : whole);
  }
}

void addLevels(const std::int8_t* in, float* to, std::size_t n, float scale) {
  for (std::size_t i = 0; i < n; ++i) {
    to[i] += static_cast<float>(in[i]) * scale;
  }
}

void packSigns(const float* in, std::uint8_t* bits, std::size_t n) {
  std::size_t i = 0;
#if defined(__AVX2__)
  for (; i + 8 <= n; i += 8) {
    // The mask gathers sign bits: set for negative numbers.
    bits[i / 8] = static_cast<std::uint8_t>(~_mm256_movemask_ps(_mm256_loadu_ps(in + i)));
  }
#elif defined(__SSE2__)
  for (; i + 8 <= n; i += 8) {
    const int low = _mm_movemask_ps(_mm_loadu_ps(in + i));
    const int high = _mm_movemask_ps(_mm_loadu_ps(in + i + 4));
    bits[i / 8] = static_cast<std::uint8_t>(~(low | high << 4));
  }
#endif
  if (i < n) {
    std::uint8_t last = 0;
    for (std::size_t j = i; j < n; ++j) {
      last = static_cast<std::uint8_t>(last | ((bitsOf(in[j]) >> 31 ^ 1U) << (j - i)));
    }
    bits[i / 8] = last;
  }
}

void addSigns(const std::uint8_t* bits, float* to, std::size_t n, float magnitude) {
  const std::uint32_t value = bitsOf(magnitude);
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const std::uint32_t byte = bits[i / 8];
    for (std::size_t j = 0; j < 8; ++j) {
      // A sign is flipped, and nothing is asked: the loop has no branch.
      to[i + j] += std::bit_cast<float>(value ^ ((byte >> j & 1U) ^ 1U) << 31);
    }
  }
  for (; i < n; ++i) {
    to[i] += std::bit_cast<float>(value ^ ((bits[i / 8] >> (i % 8) & 1U) ^ 1U) << 31);
  }
}

std::size_t countAtLeast(const float* in, std::size_t n, float threshold) {
  const std::uint32_t least = magnitudeOf(threshold);
  return sumOf<std::uint32_t, std::size_t, kOnes>(
      n, [in, least](std::size_t i) { return magnitudeOf(in[i]) >= least ? 1U : 0U; });
}

/// Which of kBlock elements have a magnitude of at least `least`, a bit each.
inline std::uint32_t reaching(const float* in, std::uint32_t least) {
#if defined(__AVX512F__)
  const __m512i bits = _mm512_loadu_si512(in);
  return _mm512_cmpge_epu32_mask(_mm512_and_epi32(bits, _mm512_set1_epi32(0x7FFFFFFF)),
                                 _mm512_set1_epi32(static_cast<int>(least)));
#elif defined(__AVX2__)
  const __m256i mask = _mm256_set1_epi32(0x7FFFFFFF);
  // AVX2 compares signed integers, and only by "greater": magnitudes have no sign bit, and at least
  // x is more than x - 1.
  const __m256i below = _mm256_set1_epi32(static_cast<int>(least) - 1);
  const auto eight = [&](const float* from) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i reached = _mm256_cmpgt_epi32(_mm256_and_si256(bits, mask), below);
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(reached)));
  };
  return eight(in) | eight(in + 8) << 8;
#elif defined(__SSE2__)
  const __m128i mask = _mm_set1_epi32(0x7FFFFFFF);
  const __m128i below = _mm_set1_epi32(static_cast<int>(least) - 1);
  std::uint32_t result = 0;
  for (std::size_t j = 0; j < kBlock; j += 4) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + j));
    const __m128i reached = _mm_cmpgt_epi32(_mm_and_si128(bits, mask), below);
    result |= static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(reached))) << j;
  }
  return result;
#else
  std::uint32_t result = 0;
  for (std::size_t j = 0; j < kBlock; ++j) {
    result |= (magnitudeOf(in[j]) >= least ? 1U : 0U) << j;
  }
  return result;
#endif
}

std::size_t indicesAtLeast(const float* in, std::size_t n, float threshold, std::uint32_t* out,
                           std::size_t room) {
  const std::uint32_t least = magnitudeOf(threshold);
  std::size_t found = 0;
  const auto add = [&](std::size_t index) {
    if (found < room) {
      out[found] = static_cast<std::uint32_t>(index);
    }
    ++found;
  };
  std::size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    // Of a sparse selection most masks are 0, and sixteen elements cost one comparison.
    for (std::uint32_t rest = reaching(in + i, least); rest != 0; rest &= rest - 1) {
      add(i + static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }
  for (; i < n; ++i) {
    if (magnitudeOf(in[i]) >= least) {
      add(i);
    }
  }
  return found;
}

}  // namespace

extern const Kernels kTable;
const Kernels kTable{LOCKSTEP_INSTRUCTION_SET_NAME,
                     toHalf,
                     fromHalf,
                     divideHalf,
                     sumHalf,
                     toBfloat16,
                     fromBfloat16,
                     divideBfloat16,
                     sumBfloat16,
                     scale,
                     add,
                     addScaled,
                     addScaledFused,
                     addSquaresFused,
                     range,
                     absoluteSum,
                     dot,
                     quantize,
                     addQuantized,
                     quantizeAtRandom,
                     addLevels,
                     packSigns,
                     addSigns,
                     countAtLeast,
                     indicesAtLeast};

}  // namespace lockstep::kernels::LOCKSTEP_INSTRUCTION_SET
