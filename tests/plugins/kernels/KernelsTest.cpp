#include "plugins/kernels/Kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace lockstep::kernels {
namespace {

constexpr std::size_t kOdd = 10007;  // no multiple of any block

std::vector<float> gradients(std::size_t n, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) {
    value = normal(random) * std::pow(10.0F, normal(random));
  }
  return values;
}

/// Each set of instructions that this processor has.
class OnEachInstructionSet : public testing::TestWithParam<const Kernels* (*)()> {
 protected:
  void SetUp() override {
    if (GetParam()() == nullptr) {
      GTEST_SKIP() << "not on this processor";
    }
  }
  [[nodiscard]] const Kernels& set() const { return *GetParam()(); }
  [[nodiscard]] static const Kernels& plain() { return *baselineKernels(); }
};

INSTANTIATE_TEST_SUITE_P(Kernels, OnEachInstructionSet,
                         testing::Values(baselineKernels, avx2Kernels, avx512Kernels));

TEST_P(OnEachInstructionSet, EveryHalfGoesToFloatAndBack) {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    halves[i] = static_cast<std::uint16_t>(i);
  }
  std::vector<float> floats(halves.size());
  std::vector<std::uint16_t> back(halves.size());
  set().fromHalf(halves.data(), floats.data(), halves.size());
  set().toHalf(floats.data(), back.data(), floats.size());
  for (std::size_t i = 0; i < halves.size(); ++i) {
    if (std::isnan(floats[i])) {
      EXPECT_GT(back[i] & 0x7FFF, 0x7C00) << i;
    } else {
      EXPECT_EQ(back[i], halves[i]) << i;
    }
  }
  EXPECT_EQ(floats[0x3C00], 1.0F);
  EXPECT_EQ(floats[0x0001], std::ldexp(1.0F, -24));
  EXPECT_EQ(floats[0x7BFF], 65504.0F);
  EXPECT_EQ(floats[0xFC00], -std::numeric_limits<float>::infinity());
}

TEST_P(OnEachInstructionSet, RoundsFloatsToTheNearestHalfTiesToEven) {
  const std::vector<float> in{1.0F,
                              1.0F + std::ldexp(1.0F, -11),
                              1.0F + std::ldexp(3.0F, -11),
                              65519.9F,
                              65520.0F,
                              std::ldexp(1.0F, -25),
                              -1e-9F,
                              std::ldexp(1.5F, -25)};
  std::vector<std::uint16_t> out(in.size());
  set().toHalf(in.data(), out.data(), in.size());
  EXPECT_THAT(out,
              testing::ElementsAre(0x3C00, 0x3C00, 0x3C02, 0x7BFF, 0x7C00, 0x0000, 0x8000, 0x0001));
}

TEST_P(OnEachInstructionSet, GivesTheSameBitsAsPlainCode) {
  const auto in = gradients(kOdd);
  const auto same = [&](auto convert) {
    std::vector<std::uint16_t> a(kOdd);
    std::vector<std::uint16_t> b(kOdd);
    convert(set(), a);
    convert(plain(), b);
    return a == b;
  };
  EXPECT_TRUE(same([&](const Kernels& k, auto& out) { k.toHalf(in.data(), out.data(), kOdd); }));
  EXPECT_TRUE(same([&](const Kernels& k, auto& out) {
    k.toHalf(in.data(), out.data(), kOdd);
    k.divideHalf(out.data(), 3, kOdd);
  }));
  EXPECT_TRUE(same([&](const Kernels& k, auto& out) {
    const auto other = gradients(kOdd, 2);
    std::vector<std::uint16_t> from(kOdd);
    k.toHalf(in.data(), out.data(), kOdd);
    k.toHalf(other.data(), from.data(), kOdd);
    k.addHalf(out.data(), from.data(), kOdd);
  }));
  EXPECT_TRUE(same([&](const Kernels& k, auto& out) {
    k.toBfloat16(in.data(), out.data(), kOdd);
    k.divideBfloat16(out.data(), 3, kOdd);
    k.addBfloat16(out.data(), out.data(), kOdd);
  }));
  std::vector<std::uint8_t> a(kOdd);
  std::vector<std::uint8_t> b(kOdd);
  set().quantize(in.data(), a.data(), kOdd, 40, 128);
  plain().quantize(in.data(), b.data(), kOdd, 40, 128);
  EXPECT_EQ(a, b);
  set().packSigns(in.data(), a.data(), kOdd);
  plain().packSigns(in.data(), b.data(), kOdd);
  EXPECT_EQ(a, b);
}

TEST_P(OnEachInstructionSet, RoundsBfloat16ToTheNearestTiesToEvenAndKeepsNan) {
  const std::vector<float> in{1.0F, 1.0F + std::ldexp(1.0F, -8), 1.0F + std::ldexp(3.0F, -8),
                              std::numeric_limits<float>::max(), std::bit_cast<float>(0x7F800001U)};
  std::vector<std::uint16_t> out(in.size());
  set().toBfloat16(in.data(), out.data(), in.size());
  EXPECT_THAT(out, testing::ElementsAre(0x3F80, 0x3F80, 0x3F82, 0x7F80, 0x7FC0));
}

TEST_P(OnEachInstructionSet, FindsTheRangeAndTheSumOfMagnitudes) {
  auto in = gradients(kOdd);
  in[5000] = -1e9F;
  in[kOdd - 1] = 2e9F;
  float least = 0;
  float greatest = 0;
  set().range(in.data(), in.size(), &least, &greatest);
  EXPECT_EQ(least, -1e9F);
  EXPECT_EQ(greatest, 2e9F);
  double sum = 0;
  for (const float value : in) {
    sum += std::fabs(static_cast<double>(value));
  }
  EXPECT_NEAR(set().absoluteSum(in.data(), in.size()), sum, 1e-5 * sum);
}

TEST_P(OnEachInstructionSet, MultipliesVectors) {
  std::vector<float> ones(kOdd, 1);
  std::vector<float> twos(kOdd, 2);
  EXPECT_EQ(set().dot(ones.data(), twos.data(), kOdd), 2.0 * kOdd);
  ones[kOdd - 1] = -100;
  EXPECT_EQ(set().dot(ones.data(), twos.data(), kOdd), 2.0 * kOdd - 202);
}

TEST_P(OnEachInstructionSet, AddsAMultipleWithOneRounding) {
  const auto from = gradients(kOdd);
  std::vector<float> once(kOdd, 1);
  set().addScaledFused(once.data(), from.data(), 0.1F, kOdd);
  for (std::size_t i = 0; i < kOdd; ++i) {
    EXPECT_EQ(once[i], std::fma(0.1F, from[i], 1.0F));
  }
  std::vector<float> twice(kOdd, 1);
  set().addScaled(twice.data(), from.data(), 0.1F, kOdd);
  EXPECT_NE(once, twice);
  std::vector<float> squares(kOdd, 1);
  set().addSquaresFused(squares.data(), from.data(), 0.1F, kOdd);
  for (std::size_t i = 0; i < kOdd; ++i) {
    EXPECT_EQ(squares[i], std::fma(0.1F * from[i], from[i], 1.0F));
  }
}

TEST_P(OnEachInstructionSet, QuantizesWithinHalfAStepAndClampsTheRest) {
  const std::vector<float> in{-1.0F, 0.0F, 0.49F, 1.51F, 100.0F, -100.0F, 2.5F};
  std::vector<std::uint8_t> q(in.size());
  set().quantize(in.data(), q.data(), in.size(), 1, 10);
  EXPECT_THAT(q, testing::ElementsAre(9, 10, 10, 12, 110, 0, 12));
  std::vector<float> back(in.size(), 0.5F);
  set().addQuantized(q.data(), back.data(), in.size(), 1, 10);
  EXPECT_THAT(back, testing::ElementsAre(-0.5F, 0.5F, 0.5F, 2.5F, 100.5F, -9.5F, 2.5F));
}

TEST_P(OnEachInstructionSet, PacksSignsAndAddsThemBack) {
  const std::vector<float> in{1, -1, 0.0F, -0.0F, 5, -5, 1e-30F, -1e-30F, 3, -3};
  std::vector<std::uint8_t> bits(2);
  set().packSigns(in.data(), bits.data(), in.size());
  EXPECT_THAT(bits, testing::ElementsAre(0b01010101, 0b01));
  std::vector<float> sum(in.size(), 10);
  set().addSigns(bits.data(), sum.data(), in.size(), 2);
  EXPECT_THAT(sum, testing::ElementsAre(12, 8, 12, 8, 12, 8, 12, 8, 12, 8));
}

TEST_P(OnEachInstructionSet, CountsWhatIsLargeEnough) {
  auto in = gradients(kOdd);
  std::size_t expected = 0;
  for (const float value : in) {
    expected += std::fabs(value) >= 1.5F ? 1 : 0;
  }
  EXPECT_EQ(set().countAtLeast(in.data(), in.size(), 1.5F), expected);
  EXPECT_EQ(set().countAtLeast(in.data(), in.size(), 0), in.size());
}

TEST(Kernels, AreTheWidestThatTheProcessorHas) {
  const Kernels* best = avx512Kernels() != nullptr ? avx512Kernels()
                        : avx2Kernels() != nullptr ? avx2Kernels()
                                                   : baselineKernels();
  EXPECT_EQ(&kernels(), best);
}

}  // namespace
}  // namespace lockstep::kernels
