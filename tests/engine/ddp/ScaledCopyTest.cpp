#include "engine/ddp/ScaledCopy.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <gtest/gtest.h>

#include <limits>

namespace lockstep::ddp {
namespace {

constexpr std::int64_t kStreamed = kStreamedBytes / 4;

/// The bits of at::mul_out().
void expectProduct(const at::Tensor& to, const at::Tensor& from, double divisor) {
  const at::Tensor factor = at::native::wrapped_scalar_tensor(1 / divisor);
  at::Tensor expected = at::empty_like(from);
  at::mul_out(expected, from, factor);
  scaledCopy(to, from, factor);
  EXPECT_TRUE(at::equal(to, expected)) << from.sizes() << " / " << divisor;
}

TEST(ScaledCopy, GivesTheBitsOfAMultiplicationAtEverySizeAndPlace) {
  const at::Tensor memory = at::empty({kStreamed + 100});
  const at::Tensor source = at::randn({kStreamed + 100});
  for (const std::int64_t size : {1L, 1000L, kStreamed - 1, kStreamed, kStreamed + 17}) {
    for (const std::int64_t place : {0, 1, 5, 16, 31}) {
      for (const double divisor : {1., 2., 3., 7.}) {
        expectProduct(memory.narrow(0, place, size), source.narrow(0, 32 - place, size), divisor);
      }
    }
  }
}

TEST(ScaledCopy, WritesNothingBeyondItsPlace) {
  const at::Tensor memory = at::full({kStreamed + 200}, 5.F);
  scaledCopy(memory.narrow(0, 99, kStreamed + 1), at::ones({kStreamed + 1}),
             at::native::wrapped_scalar_tensor(0.5));
  EXPECT_TRUE(at::equal(memory.narrow(0, 0, 99), at::full({99}, 5.F)));
  EXPECT_TRUE(at::equal(memory.narrow(0, kStreamed + 100, 100), at::full({100}, 5.F)));
}

TEST(ScaledCopy, KeepsInfinityAndNan) {
  const at::Tensor source = at::ones({kStreamed});
  source[3] = std::numeric_limits<float>::infinity();
  source[4] = -std::numeric_limits<float>::infinity();
  source[5] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor to = at::empty({kStreamed});
  scaledCopy(to, source, at::native::wrapped_scalar_tensor(0.5));
  EXPECT_EQ(to[3].item<float>(), std::numeric_limits<float>::infinity());
  EXPECT_EQ(to[4].item<float>(), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(to[5].isnan().item<bool>());
}

TEST(ScaledCopy, TakesOtherStridesAndDtypes) {
  const at::Tensor source = at::randn({1024, 512});
  expectProduct(at::empty({1024, 512}), source.t().contiguous().t(), 3);
  expectProduct(at::empty({512, 1024}).t(), source.t().contiguous().t(), 3);
  for (const at::ScalarType dtype : {at::kDouble, at::kHalf, at::kBFloat16}) {
    expectProduct(at::empty({1024, 1024}, dtype), at::randn({1024, 1024}).to(dtype), 3);
  }
}

}  // namespace
}  // namespace lockstep::ddp
