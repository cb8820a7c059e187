#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::kernels {

/// The hot loops of compression and of sums of halves, for contiguous fp32 gradients on the CPU,
/// as a table that is filled for the processor when it is first asked for. A leaf: plugins use it,
/// and the engine's process groups do. All give the same bits on every instruction set, except
/// absoluteSum and dot, whose order of summation differs. Buffers need no alignment. [any-thread]
///
/// Half types are their 16 bits; conversions round to nearest, ties to even; NaN stays NaN.
struct Kernels {
  const char* name;  ///< "avx512", "avx2", "baseline"

  void (*toHalf)(const float* in, std::uint16_t* out, std::size_t n);
  void (*fromHalf)(const std::uint16_t* in, float* out, std::size_t n);
  /// Each element divided in fp32 and rounded again.
  void (*divideHalf)(std::uint16_t* inout, float divisor, std::size_t n);
  /// out = (sources[0] + ... + sources[count - 1]) / divisor, in this order in fp32 and rounded
  /// once: for two, with divisor 1, the bits of Gloo's float16. NaN becomes 0x7FFF, as Gloo's.
  /// `out` may be one of the sources, which are arrays of halves.
  void (*sumHalf)(const void* const* sources, int count, std::uint16_t* out, std::size_t n,
                  float divisor);
  void (*toBfloat16)(const float* in, std::uint16_t* out, std::size_t n);
  void (*fromBfloat16)(const std::uint16_t* in, float* out, std::size_t n);
  void (*divideBfloat16)(std::uint16_t* inout, float divisor, std::size_t n);
  /// As sumHalf; NaN becomes 0x7FC0, as libtorch's.
  void (*sumBfloat16)(const void* const* sources, int count, std::uint16_t* out, std::size_t n,
                      float divisor);

  void (*scale)(float* inout, float factor, std::size_t n);
  void (*add)(float* to, const float* from, std::size_t n);
  /// to += factor * from
  void (*addScaled)(float* to, const float* from, float factor, std::size_t n);
  /// The same, rounded once, as libtorch adds a multiple; slow without FMA instructions.
  void (*addScaledFused)(float* to, const float* from, float factor, std::size_t n);
  /// to += (factor * from) * from, where the product in brackets is rounded and the rest once.
  void (*addSquaresFused)(float* to, const float* from, float factor, std::size_t n);
  /// Of n > 0 elements; both are NaN when one is.
  void (*range)(const float* in, std::size_t n, float* least, float* greatest);
  double (*absoluteSum)(const float* in, std::size_t n);
  double (*dot)(const float* a, const float* b, std::size_t n);

  /// out = clamp(round(in * inverseScale) + zero, 0, 255); ties to even.
  void (*quantize)(const float* in, std::uint8_t* out, std::size_t n, float inverseScale,
                   float zero);
  /// to += (in - zero) * scale
  void (*addQuantized)(const std::uint8_t* in, float* to, std::size_t n, float scale, float zero);
  /// out = in * toLevels, rounded at random to one of its two neighbours, right on average; at most
  /// `levels` <= 127 in magnitude, which |in| * toLevels may pass by no more than a rounding. The
  /// numbers drawn come from `seed` and the index.
  void (*quantizeAtRandom)(const float* in, std::int8_t* out, std::size_t n, float toLevels,
                           float levels, std::uint32_t seed);
  /// to += in * scale
  void (*addLevels)(const std::int8_t* in, float* to, std::size_t n, float scale);

  /// Bit i % 8 of byte i / 8 is set where in[i] is not negative; -0 counts as negative, NaN as its
  /// sign bit says. The rest of the last byte is zero.
  void (*packSigns)(const float* in, std::uint8_t* bits, std::size_t n);
  /// to[i] += bit i set ? +magnitude : -magnitude
  void (*addSigns)(const std::uint8_t* bits, float* to, std::size_t n, float magnitude);

  // Magnitudes are compared as their bits: NaN stands above infinity.

  /// How many elements have a magnitude of at least that of `threshold`.
  std::size_t (*countAtLeast)(const float* in, std::size_t n, float threshold);
  /// As countAtLeast; the indices of the first `room` of them go to `out`, ascending.
  std::size_t (*indicesAtLeast)(const float* in, std::size_t n, float threshold, std::uint32_t* out,
                                std::size_t room);
};

/// For this processor.
const Kernels& kernels();

/// One by one, for tests and measurements; null where the processor cannot run it.
const Kernels* baselineKernels();
const Kernels* avx2Kernels();
const Kernels* avx512Kernels();

}  // namespace lockstep::kernels
