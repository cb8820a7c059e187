#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::kernels {

/// The hot loops of compression, for contiguous fp32 gradients on the CPU, as a table that is
/// filled for the processor when it is first asked for. All give the same bits on every
/// instruction set, except absoluteSum and dot, whose order of summation
/// differs. Buffers need no
/// alignment. [any-thread]
///
/// Half types are their 16 bits; conversions round to nearest, ties to even; NaN stays NaN.
struct Kernels {
  const char* name;  ///< "avx512", "avx2", "baseline"

  void (*toHalf)(const float* in, std::uint16_t* out, std::size_t n);
  void (*fromHalf)(const std::uint16_t* in, float* out, std::size_t n);
  /// Each element divided in fp32 and rounded again.
  void (*divideHalf)(std::uint16_t* inout, float divisor, std::size_t n);
  /// to += from, each sum rounded.
  void (*addHalf)(std::uint16_t* to, const std::uint16_t* from, std::size_t n);
  void (*toBfloat16)(const float* in, std::uint16_t* out, std::size_t n);
  void (*fromBfloat16)(const std::uint16_t* in, float* out, std::size_t n);
  void (*divideBfloat16)(std::uint16_t* inout, float divisor, std::size_t n);
  void (*addBfloat16)(std::uint16_t* to, const std::uint16_t* from, std::size_t n);

  void (*scale)(float* inout, float factor, std::size_t n);
  void (*add)(float* to, const float* from, std::size_t n);
  /// to += factor * from
  void (*addScaled)(float* to, const float* from, float factor, std::size_t n);
  /// The same, rounded once, as libtorch adds a multiple; slow without FMA instructions.
  void (*addScaledFused)(float* to, const float* from, float factor, std::size_t n);
  /// to += (factor * from) * from, where the product in brackets is rounded and the rest once.
  void (*addSquaresFused)(float* to, const float* from, float factor, std::size_t n);
  /// Of n > 0 elements; NaN is passed over.
  void (*range)(const float* in, std::size_t n, float* least, float* greatest);
  double (*absoluteSum)(const float* in, std::size_t n);
  double (*dot)(const float* a, const float* b, std::size_t n);

  /// out = clamp(round(in * inverseScale) + zero, 0, 255); ties to even.
  void (*quantize)(const float* in, std::uint8_t* out, std::size_t n, float inverseScale,
                   float zero);
  /// to += (in - zero) * scale
  void (*addQuantized)(const std::uint8_t* in, float* to, std::size_t n, float scale, float zero);

  /// Bit i % 8 of byte i / 8 is set where in[i] is not negative; -0 counts as negative, NaN as its
  /// sign bit says. The rest of the last byte is zero.
  void (*packSigns)(const float* in, std::uint8_t* bits, std::size_t n);
  /// to[i] += bit i set ? +magnitude : -magnitude
  void (*addSigns)(const std::uint8_t* bits, float* to, std::size_t n, float magnitude);

  /// How many elements have a magnitude of at least `threshold`.
  std::size_t (*countAtLeast)(const float* in, std::size_t n, float threshold);
};

/// For this processor.
const Kernels& kernels();

/// One by one, for tests and measurements; null where the processor cannot run it.
const Kernels* baselineKernels();
const Kernels* avx2Kernels();
const Kernels* avx512Kernels();

}  // namespace lockstep::kernels
