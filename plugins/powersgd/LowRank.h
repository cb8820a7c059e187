#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/kernels/Kernels.h"
#include "plugins/arithmetic/Arithmetic.h"

namespace lockstep::plugin {

/// Numbers taken as a matrix, row by row, with its factors in the bucket's messages. Columns of P
/// and Q lie one after the other, so that all loops run over neighbours.
struct Matrix {
  std::uint32_t id = 0;  ///< of the parameter that Q is kept by
  lockstep_buffer values;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t rank = 0;
  std::size_t firstOfP = 0;  ///< in all P of the bucket
  std::size_t firstOfQ = 0;
  lockstep_buffer p{};  ///< rank vectors of `rows`
  lockstep_buffer q{};  ///< rank vectors of `columns`

  [[nodiscard]] std::span<float> ofP(std::span<float> all) const {
    return all.subspan(firstOfP, rows * rank);
  }
  [[nodiscard]] std::span<float> ofQ(std::span<float> all) const {
    return all.subspan(firstOfQ, columns * rank);
  }
};

inline std::int64_t signedOf(std::size_t count) {
  return static_cast<std::int64_t>(count);
}

/// Makes `count` vectors of equal length orthonormal, one by one (Gram-Schmidt, a second time where
/// little was left, which is full of the first time's rounding errors). One that has no direction
/// of its own becomes zero: PyTorch's division gives NaN for zeros, and else a direction of chance.
/// NaN and infinity go on, so that they are seen.
inline void orthogonalize(std::span<float> vectors, std::size_t count) {
  constexpr double kRounding = 1e-6;
  constexpr double kLittle = 0.1;
  const auto& loops = kernels::kernels();
  const std::size_t length = vectors.size() / count;
  const auto vector = [&](std::size_t i) { return vectors.data() + i * length; };
  const auto norm = [&](std::size_t i) {
    return std::sqrt(loops.dot(vector(i), vector(i), length));
  };
  for (std::size_t i = 0; i < count; ++i) {
    const auto removeOthers = [&] {
      for (std::size_t j = 0; j < i; ++j) {
        const auto share = static_cast<float>(-loops.dot(vector(j), vector(i), length));
        loops.addScaled(vector(i), vector(j), share, length);
      }
      return norm(i);
    };
    const double whole = norm(i);
    double left = removeOthers();
    if (left < kLittle * whole) {
      left = removeOthers();
    }
    if (std::isfinite(left) && (left <= kRounding * whole || left < 1e-30)) {
      std::fill(vector(i), vector(i) + length, 0.0F);
    } else {
      loops.scale(vector(i), static_cast<float>(1 / left), length);
    }
  }
}

/// P = M Q
inline void multiply(const Arithmetic& arithmetic, const Matrix& matrix) {
  if (const auto& math = arithmetic.math()) {
    math->matmul(matrix.q, matrix.values, matrix.p, signedOf(matrix.rank),
                 signedOf(matrix.columns), signedOf(matrix.rows), LOCKSTEP_TRANSPOSED_B);
    return;
  }
  const auto values = view<float>(matrix.values);
  const auto p = view<float>(matrix.p);
  const auto q = view<float>(matrix.q);
  for (std::size_t k = 0; k < matrix.rank; ++k) {
    for (std::size_t row = 0; row < matrix.rows; ++row) {
      p[k * matrix.rows + row] = static_cast<float>(
          kernels::kernels().dot(values.data() + row * matrix.columns,
                                 q.data() + k * matrix.columns, matrix.columns));
    }
  }
}

/// Q = M^T P
inline void multiplyBack(const Arithmetic& arithmetic, const Matrix& matrix) {
  if (const auto& math = arithmetic.math()) {
    math->matmul(matrix.p, matrix.values, matrix.q, signedOf(matrix.rank), signedOf(matrix.rows),
                 signedOf(matrix.columns));
    return;
  }
  const auto values = view<float>(matrix.values);
  const auto p = view<float>(matrix.p);
  const auto q = view<float>(matrix.q);
  std::ranges::fill(q, 0.0F);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    for (std::size_t k = 0; k < matrix.rank; ++k) {
      kernels::kernels().addScaled(q.data() + k * matrix.columns,
                                   values.data() + row * matrix.columns,
                                   p[k * matrix.rows + row], matrix.columns);
    }
  }
}

/// M = P Q^T
inline void restore(const Arithmetic& arithmetic, const Matrix& matrix) {
  if (const auto& math = arithmetic.math()) {
    math->matmul(matrix.p, matrix.q, matrix.values, signedOf(matrix.rows), signedOf(matrix.rank),
                 signedOf(matrix.columns), LOCKSTEP_TRANSPOSED_A);
    return;
  }
  const auto values = view<float>(matrix.values);
  const auto p = view<float>(matrix.p);
  const auto q = view<float>(matrix.q);
  std::ranges::fill(values, 0.0F);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    for (std::size_t k = 0; k < matrix.rank; ++k) {
      kernels::kernels().addScaled(values.data() + row * matrix.columns,
                                   q.data() + k * matrix.columns, p[k * matrix.rows + row],
                                   matrix.columns);
    }
  }
}

}  // namespace lockstep::plugin
