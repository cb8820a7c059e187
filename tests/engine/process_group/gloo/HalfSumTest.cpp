#include <gloo/math.h>
#include <gloo/types.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "engine/kernels/Kernels.h"
#include "engine/process_group/Reduction.h"

namespace lockstep::process_group {
namespace {

constexpr std::size_t kHalves = 65536;

/// Signs, zeros, subnormal numbers, powers, the largest, infinities, NaN; and any others.
std::vector<std::uint16_t> partners() {
  std::vector<std::uint16_t> values;
  for (const unsigned positive :
       {0x0000U, 0x0001U, 0x0002U, 0x03FFU, 0x0400U, 0x0401U, 0x1400U, 0x3BFFU, 0x3C00U, 0x3C01U,
        0x4BFFU, 0x6400U, 0x7BFEU, 0x7BFFU, 0x7C00U, 0x7C01U, 0x7E00U, 0x7FFFU}) {
    values.push_back(static_cast<std::uint16_t>(positive));
    values.push_back(static_cast<std::uint16_t>(positive | 0x8000U));
  }
  std::mt19937 random(5);
  while (values.size() < 120) {
    values.push_back(static_cast<std::uint16_t>(random()));
  }
  return values;
}

/// What Gloo adds up. Its assignment compares the bits of the one half with the other's taken as a
/// whole number, and keeps the old value where these are equal (0x0001 + 1.0 stays 0x0001); there
/// its conversions say what it means.
std::uint16_t gloosSum(std::uint16_t a, std::uint16_t b) {
  ::gloo::float16 left;
  ::gloo::float16 right;
  left.x = a;
  right.x = b;
  const ::gloo::float16 meant =
      ::gloo::cpu_float2half_rn(::gloo::cpu_half2float(left) + ::gloo::cpu_half2float(right));
  if (meant == int{a}) {
    return meant.x;
  }
  ::gloo::sum<::gloo::float16>(&left, &left, &right, 1);
  return left.x;
}

/// Every half with each of the partners; `sum` adds arrays of kHalves halves.
template <typename Sum>
void expectGloosBits(Sum sum) {
  std::vector<std::uint16_t> all(kHalves);
  for (std::size_t i = 0; i < kHalves; ++i) {
    all[i] = static_cast<std::uint16_t>(i);
  }
  for (const std::uint16_t partner : partners()) {
    const std::vector<std::uint16_t> other(kHalves, partner);
    std::vector<std::uint16_t> ours(kHalves);
    const void* const sources[] = {all.data(), other.data()};
    sum(ours.data(), sources);
    for (std::size_t i = 0; i < kHalves; ++i) {
      ASSERT_EQ(ours[i], gloosSum(all[i], partner)) << std::hex << i << " + " << partner;
    }
  }
}

TEST(HalfSum, HasTheBitsOfGloosOwnOnEachInstructionSet) {
  for (const auto find : {kernels::baselineKernels, kernels::avx2Kernels, kernels::avx512Kernels}) {
    if (const kernels::Kernels* set = find(); set != nullptr) {
      SCOPED_TRACE(set->name);
      expectGloosBits([&](std::uint16_t* out, const void* const* sources) {
        set->sumHalf(sources, 2, out, kHalves, 1);
      });
    }
  }
}

TEST(HalfSum, OfTheGroupHasTheBitsOfGloosOwn) {
  const reduction::Combine combine = reduction::combiner(c10::ScalarType::Half, ReduceOp::kSum);
  expectGloosBits([&](std::uint16_t* out, const void* const* sources) {
    combine(out, sources, 2, kHalves, 2);
  });
}

}  // namespace
}  // namespace lockstep::process_group
