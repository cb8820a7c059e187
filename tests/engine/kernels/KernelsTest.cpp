#include "engine/kernels/Kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
    k.toBfloat16(in.data(), out.data(), kOdd);
    k.divideBfloat16(out.data(), 3, kOdd);
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

TEST_P(OnEachInstructionSet, SumsHalvesInTheirOrderAndRoundsOnce) {
  // Every half there is, with others: NaN, infinities and subnormal numbers among them.
  std::vector<std::vector<std::uint16_t>> halves(3, std::vector<std::uint16_t>(65536));
  for (std::size_t i = 0; i < 65536; ++i) {
    halves[0][i] = static_cast<std::uint16_t>(i);
    halves[1][i] = static_cast<std::uint16_t>(i * 40503 + 12345);
    halves[2][i] = static_cast<std::uint16_t>(i * 10007 + 54321);
  }
  struct Type {
    void (*const Kernels::*toFloat)(const std::uint16_t*, float*, std::size_t);
    void (*const Kernels::*fromFloat)(const float*, std::uint16_t*, std::size_t);
    void (*const Kernels::*sum)(const void* const*, int, std::uint16_t*, std::size_t, float);
    std::uint16_t nan;
  };
  for (const Type& type :
       {Type{&Kernels::fromHalf, &Kernels::toHalf, &Kernels::sumHalf, 0x7FFF},
        Type{&Kernels::fromBfloat16, &Kernels::toBfloat16, &Kernels::sumBfloat16, 0x7FC0}}) {
    for (int count = 1; count <= 3; ++count) {
      for (const float divisor : {1.0F, 3.0F}) {
        std::vector<float> sums(65536);
        std::vector<float> next(65536);
        (plain().*type.toFloat)(halves[0].data(), sums.data(), sums.size());
        for (int s = 1; s < count; ++s) {
          (plain().*type.toFloat)(halves[static_cast<std::size_t>(s)].data(), next.data(),
                                  next.size());
          for (std::size_t i = 0; i < sums.size(); ++i) {
            sums[i] += next[i];
          }
        }
        for (float& sum : sums) {
          sum /= divisor;
        }
        std::vector<std::uint16_t> expected(65536);
        (plain().*type.fromFloat)(sums.data(), expected.data(), sums.size());
        for (std::size_t i = 0; i < sums.size(); ++i) {
          expected[i] = std::isnan(sums[i]) ? type.nan : expected[i];
        }
        // Into memory of its own, and into each of the sources; by an odd number of elements.
        for (int target = -1; target < count; ++target) {
          auto own = halves;
          own.emplace_back(65536);
          auto& out = own[target < 0 ? 3 : static_cast<std::size_t>(target)];
          const void* const sources[] = {own[0].data(), own[1].data(), own[2].data()};
          (set().*type.sum)(sources, count, out.data(), 65535, divisor);
          out[65535] = expected[65535];
          EXPECT_EQ(out, expected) << count << " sources into " << target << " by " << divisor;
        }
      }
    }
  }
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
  for (const std::size_t place : {std::size_t{5}, kOdd - 1}) {
    auto broken = in;
    broken[place] = std::numeric_limits<float>::quiet_NaN();
    set().range(broken.data(), broken.size(), &least, &greatest);
    EXPECT_TRUE(std::isnan(least) && std::isnan(greatest)) << place;
  }
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

TEST_P(OnEachInstructionSet, RoundsToLevelsAtRandomAndRightOnAverage) {
  std::vector<float> in(kOdd);
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = (static_cast<float>(i % 201) - 100) / 100;
  }
  in[7] = -0.0F;
  constexpr float kLevels = 3;
  std::vector<double> sums(kOdd);
  constexpr int kDraws = 400;
  for (std::uint32_t seed = 0; seed < kDraws; ++seed) {
    std::vector<std::int8_t> out(kOdd);
    std::vector<std::int8_t> same(kOdd);
    set().quantizeAtRandom(in.data(), out.data(), kOdd, kLevels, kLevels, 77'777 * seed);
    plain().quantizeAtRandom(in.data(), same.data(), kOdd, kLevels, kLevels, 77'777 * seed);
    ASSERT_EQ(out, same);
    for (std::size_t i = 0; i < in.size(); ++i) {
      ASSERT_LT(std::fabs(static_cast<float>(out[i]) - in[i] * kLevels), 1.00001F) << i;
      ASSERT_LE(std::abs(out[i]), 3) << i;
      sums[i] += out[i];
    }
  }
  // A draw has at most the variance of a coin: 0.25.
  const double sigma = 0.5 / std::sqrt(double{kDraws});
  double square = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double error = sums[i] / kDraws - static_cast<double>(in[i] * kLevels);
    EXPECT_LT(std::fabs(error), 5.5 * sigma) << i;
    square += error * error / static_cast<double>(kOdd);
  }
  EXPECT_LT(square, sigma * sigma);
  EXPECT_GT(square, 0.5 * sigma * sigma) << "the numbers drawn depend on each other";
  std::vector<float> back(3, 1);
  set().addLevels(std::vector<std::int8_t>{-3, 0, 2}.data(), back.data(), 3, 0.5F);
  EXPECT_THAT(back, testing::ElementsAre(-0.5F, 1.0F, 2.0F));
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
  in[77] = -std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(set().countAtLeast(in.data(), in.size(), infinity), 1U);
}

TEST_P(OnEachInstructionSet, FindsWhatIsLargeEnough) {
  const auto in = gradients(kOdd);
  for (const float threshold : {0.0F, 0.1F, 3.0F, 1e30F}) {
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < in.size(); ++i) {
      if (std::fabs(in[i]) >= threshold) {
        expected.push_back(i);
      }
    }
    std::vector<std::uint32_t> found(in.size());
    const std::size_t count =
        set().indicesAtLeast(in.data(), in.size(), threshold, found.data(), found.size());
    ASSERT_EQ(count, expected.size());
    found.resize(count);
    EXPECT_EQ(found, expected);
    // Without room for all it counts on.
    std::vector<std::uint32_t> few(10, 1'000'000);
    EXPECT_EQ(set().indicesAtLeast(in.data(), in.size(), threshold, few.data(), 9), count);
    EXPECT_TRUE(std::equal(few.begin(), few.begin() + std::min<long>(9, count), found.begin()));
    EXPECT_EQ(few[9], 1'000'000U);
  }
}

TEST(Kernels, AreTheWidestThatTheProcessorHas) {
  const Kernels* best = avx512Kernels() != nullptr ? avx512Kernels()
                        : avx2Kernels() != nullptr ? avx2Kernels()
                                                   : baselineKernels();
  EXPECT_EQ(&kernels(), best);
}

}  // namespace
}  // namespace lockstep::kernels
