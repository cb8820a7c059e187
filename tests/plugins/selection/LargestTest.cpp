#include "plugins/selection/Largest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace lockstep::plugin {
namespace {

std::vector<float> gradients(std::size_t n) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) {
    value = normal(random) * std::pow(10.0F, normal(random));
  }
  return values;
}

/// Sorts all.
std::vector<std::uint32_t> model(const std::vector<float>& values, std::size_t count) {
  std::vector<std::uint32_t> all(values.size());
  std::iota(all.begin(), all.end(), 0U);
  std::stable_sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) {
    return magnitude(values[a]) > magnitude(values[b]);
  });
  all.resize(std::min(count, all.size()));
  std::sort(all.begin(), all.end());
  return all;
}

class Largest : public testing::TestWithParam<const kernels::Kernels* (*)()> {
 protected:
  void SetUp() override {
    if (GetParam()() == nullptr) {
      GTEST_SKIP() << "not on this processor";
    }
  }
  static void expectTheModels(const std::vector<float>& values, std::size_t count) {
    EXPECT_EQ(largest(values, count, *GetParam()()), model(values, count))
        << count << " of " << values.size();
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, Largest,
                         testing::Values(kernels::baselineKernels, kernels::avx2Kernels,
                                         kernels::avx512Kernels));

TEST_P(Largest, AreThoseThatSortingAllGives) {
  for (const std::size_t n : {1UL, 15UL, 16UL, 1000UL, 100'003UL}) {
    const auto values = gradients(n);
    for (const std::size_t count : {1UL, n / 1000, n / 100, n / 2, n - 1, n, n + 1}) {
      expectTheModels(values, std::max<std::size_t>(count, 1));
    }
  }
}

TEST_P(Largest, AreTheFirstAmongEquals) {
  expectTheModels(std::vector<float>(50'000, -1), 500);
  expectTheModels(std::vector<float>(50'000, 0), 500);
  std::vector<float> few(50'000, 0);
  few[40'000] = 1;
  few[7] = -2;
  expectTheModels(few, 500);
}

TEST_P(Largest, AreExactWhenTheSampleMissesThem) {
  // Large values stand where a stride of 24 does not come by, or only there.
  for (const std::size_t from : {1UL, 0UL}) {
    auto values = gradients(100'000);
    for (std::size_t i = from; i < values.size(); i += 24) {
      values[i] *= 1e6F;
    }
    expectTheModels(values, 1000);
    expectTheModels(values, 6000);
  }
}

TEST_P(Largest, PutNanAboveInfinity) {
  auto values = gradients(50'000);
  values[17] = std::numeric_limits<float>::quiet_NaN();
  values[18] = -std::numeric_limits<float>::infinity();
  values[49'999] = -std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(largest(values, 3, *GetParam()()), (std::vector<std::uint32_t>{17, 18, 49'999}));
  EXPECT_EQ(largest(values, 2, *GetParam()()), (std::vector<std::uint32_t>{17, 49'999}));
}

}  // namespace
}  // namespace lockstep::plugin
