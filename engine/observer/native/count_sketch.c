#include "count_sketch.h"

enum { kLanes = 8, kSigns = 32, kDraws = kLanes / 2 + 1 };

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
  return x ^ (x >> 31);
}

/* What is drawn for a block: eight words of 32 signs, one word for each lane, and where its first
 * counter is. */
static double* draw(lk_count_sketch* sketch, uint32_t* signs) {
  const uint64_t step = UINT64_C(0x9E3779B97F4A7C15);
  const uint64_t from = sketch->blocks++ * kDraws;
  for (uint64_t pair = 0; pair < kLanes / 2; ++pair) {
    const uint64_t drawn = mix((from + pair + 1) * step);
    signs[2 * pair] = (uint32_t)drawn;
    signs[2 * pair + 1] = (uint32_t)(drawn >> 32);
  }
  return sketch->sums + mix((from + kDraws) * step) % LK_COUNTERS;
}

/* A block's rows of eight elements have the signs of one bit each of the eight words, from the
 * highest bit down. */
#define ADD(NAME, REAL)                                                                            \
  static void NAME##_block(lk_count_sketch* sketch, const REAL* values, double* squares) {         \
    uint32_t signs[kLanes];                                                                        \
    double* sums = draw(sketch, signs);                                                            \
    for (int row = 0; row < kSigns; ++row) {                                                       \
      for (int lane = 0; lane < kLanes; ++lane) {                                                  \
        const double value = (double)values[row * kLanes + lane];                                  \
        sums[row * kLanes + lane] += (signs[lane] << row) & UINT32_C(0x80000000) ? -value : value; \
        squares[lane] += value * value;                                                            \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  double NAME(lk_count_sketch* sketch, const REAL* values, size_t count) {                         \
    double squares[kLanes] = {0};                                                                  \
    size_t at = 0;                                                                                 \
    for (; at + LK_COUNTERS <= count; at += LK_COUNTERS) {                                         \
      NAME##_block(sketch, values + at, squares);                                                  \
    }                                                                                              \
    if (at < count) {                                                                              \
      REAL last[LK_COUNTERS] = {0};                                                                \
      for (size_t i = at; i < count; ++i) {                                                        \
        last[i - at] = values[i];                                                                  \
      }                                                                                            \
      NAME##_block(sketch, last, squares);                                                         \
    }                                                                                              \
    double sum = 0;                                                                                \
    for (int lane = 0; lane < kLanes; ++lane) {                                                    \
      sum += squares[lane];                                                                        \
    }                                                                                              \
    return sum;                                                                                    \
  }

ADD(lk_count_sketch_add_floats, float)
ADD(lk_count_sketch_add_doubles, double)

void lk_count_sketch_counters(const lk_count_sketch* sketch, double* counters) {
  for (int i = 0; i < LK_COUNTERS; ++i) {
    counters[i] = sketch->sums[i] + sketch->sums[LK_COUNTERS + i];
  }
}
