#include "engine/process_group/Reduction.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace lockstep::process_group::reduction {
namespace {

at::Tensor combineAll(const std::vector<at::Tensor>& sources, ReduceOp op) {
  at::Tensor out = at::empty_like(sources[0]);
  std::vector<const void*> pointers;
  for (const at::Tensor& source : sources) {
    pointers.push_back(source.data_ptr());
  }
  combiner(out.scalar_type(), op)(out.data_ptr(), pointers.data(), static_cast<int>(sources.size()),
                                  static_cast<std::size_t>(out.numel()),
                                  static_cast<int>(sources.size()));
  return out;
}

class OverSources : public testing::TestWithParam<int> {};

// Long enough for several blocks of the kernel and an odd rest.
constexpr std::int64_t kElements = 5003;

TEST_P(OverSources, AgreesWithTensorArithmeticInRankOrder) {
  at::manual_seed(1);
  for (const auto dtype : {at::kFloat, at::kDouble, at::kInt, at::kLong, at::kByte, at::kChar,
                           at::kShort}) {
    std::vector<at::Tensor> sources;
    for (int i = 0; i < GetParam(); ++i) {
      sources.push_back(at::isFloatingType(dtype) ? at::randn({kElements}, dtype)
                                                  : at::randint(0, 4, {kElements}, dtype));
    }
    at::Tensor sum = sources[0].clone();
    at::Tensor product = sources[0].clone();
    at::Tensor least = sources[0].clone();
    at::Tensor most = sources[0].clone();
    for (int i = 1; i < GetParam(); ++i) {
      sum += sources[i];
      product *= sources[i];
      least = at::minimum(least, sources[i]);
      most = at::maximum(most, sources[i]);
    }
    EXPECT_TRUE(at::equal(combineAll(sources, ReduceOp::kSum), sum)) << dtype;
    EXPECT_TRUE(at::equal(combineAll(sources, ReduceOp::kProduct), product)) << dtype;
    EXPECT_TRUE(at::equal(combineAll(sources, ReduceOp::kMin), least)) << dtype;
    EXPECT_TRUE(at::equal(combineAll(sources, ReduceOp::kMax), most)) << dtype;
  }
}

TEST_P(OverSources, SumsHalfAndBfloat16InFloatAndRoundsOnce) {
  for (const auto dtype : {at::kHalf, at::kBFloat16}) {
    std::vector<at::Tensor> sources;
    at::Tensor sum = at::zeros({kElements});
    for (int i = 0; i < GetParam(); ++i) {
      sources.push_back(at::randn({kElements}).to(dtype));
      sum += sources.back().to(at::kFloat);
    }
    EXPECT_TRUE(at::equal(combineAll(sources, ReduceOp::kSum), sum.to(dtype))) << dtype;
    EXPECT_TRUE(at::equal(combineAll(sources, ReduceOp::kAverage), (sum / GetParam()).to(dtype)))
        << dtype;
  }
}

TEST_P(OverSources, DividesByTheNumberOfRanksForAnAverage) {
  std::vector<at::Tensor> sources;
  at::Tensor sum = at::zeros({kElements}, at::kDouble);
  for (int i = 0; i < GetParam(); ++i) {
    sources.push_back(at::randn({kElements}, at::kDouble));
    sum += sources.back();
  }
  EXPECT_TRUE(at::equal(combineAll(sources, ReduceOp::kAverage), sum / GetParam()));
}

TEST_P(OverSources, MayWriteIntoAnyOfItsSources) {
  for (int target = 0; target < GetParam(); ++target) {
    std::vector<at::Tensor> sources;
    std::vector<const void*> pointers;
    for (int i = 0; i < GetParam(); ++i) {
      sources.push_back(at::randn({kElements}));
      pointers.push_back(sources.back().data_ptr());
    }
    const at::Tensor expected = combineAll(sources, ReduceOp::kSum);
    combiner(at::kFloat, ReduceOp::kSum)(sources[target].data_ptr(), pointers.data(), GetParam(),
                                         kElements, GetParam());
    EXPECT_TRUE(at::equal(sources[target], expected)) << "into source " << target;
  }
}

INSTANTIATE_TEST_SUITE_P(Reduction, OverSources, testing::Values(1, 2, 3, 4));

TEST(Reduction, CombinesBits) {
  const at::Tensor a = at::tensor({0b1100, 0b1010}, at::kInt);
  const at::Tensor b = at::tensor({0b1010, 0b0110}, at::kInt);
  EXPECT_TRUE(at::equal(combineAll({a, b}, ReduceOp::kBitwiseAnd), at::bitwise_and(a, b)));
  EXPECT_TRUE(at::equal(combineAll({a, b}, ReduceOp::kBitwiseOr), at::bitwise_or(a, b)));
  EXPECT_TRUE(at::equal(combineAll({a, b}, ReduceOp::kBitwiseXor), at::bitwise_xor(a, b)));
}

TEST(Reduction, SumsTwoHalvesAsTheLibraryDoes) {
  // Every half there is, NaN, infinities and subnormal numbers among them.
  for (const auto dtype : {at::kHalf, at::kBFloat16}) {
    const at::Tensor all = at::arange(65536, at::kInt).to(at::kShort);
    const at::Tensor a = all.view(dtype);
    const at::Tensor b = all.roll(12'345).view(dtype);
    const auto same = [](const at::Tensor& x, const at::Tensor& y) {
      return at::allclose(x.to(at::kFloat), y.to(at::kFloat), 0, 0, /*equal_nan=*/true);
    };
    const at::Tensor sum = (a.to(at::kFloat) + b.to(at::kFloat)).to(dtype);
    EXPECT_TRUE(same(combineAll({a, b}, ReduceOp::kSum), sum)) << dtype;
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
      EXPECT_TRUE(same(combineAll({a}, op), a)) << dtype << " alone, " << name(op);
    }
  }
}

TEST(Reduction, WrapsIntegersRound) {
  const at::Tensor most = at::full({1}, std::numeric_limits<std::int32_t>::max(), at::kInt);
  const at::Tensor one = at::ones({1}, at::kInt);
  EXPECT_EQ(combineAll({most, one}, ReduceOp::kSum).item<int>(),
            std::numeric_limits<std::int32_t>::min());
}

TEST(Reduction, KeepsNaNInMinAndMaxWhicheverSideItIsOn) {
  const at::Tensor nan = at::full({1}, std::nan(""));
  const at::Tensor one = at::ones({1});
  for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
    EXPECT_TRUE(std::isnan(combineAll({nan, one}, op).item<float>())) << name(op);
    EXPECT_TRUE(std::isnan(combineAll({one, nan}, op).item<float>())) << name(op);
    EXPECT_TRUE(std::isnan(combineAll({one, one, nan, one}, op).item<float>())) << name(op);
  }
}

TEST(Reduction, SaysWhyACombinationIsRefused) {
  EXPECT_EQ(whyNot(at::kFloat, ReduceOp::kBitwiseAnd),
            "bitwise_and needs integers or bools; the tensors are Float");
  EXPECT_EQ(whyNot(at::kInt, ReduceOp::kAverage),
            "Int tensors cannot be averaged; use sum and divide, or a floating type");
  EXPECT_EQ(whyNot(at::kBool, ReduceOp::kSum),
            "Bool tensors cannot be reduced with sum; use min, max or a bitwise operation");
  EXPECT_EQ(whyNot(at::kComplexFloat, ReduceOp::kSum),
            "tensors of dtype ComplexFloat cannot be reduced");
  EXPECT_EQ(whyNot(at::kBFloat16, ReduceOp::kAverage), "");
}

}  // namespace
}  // namespace lockstep::process_group::reduction
