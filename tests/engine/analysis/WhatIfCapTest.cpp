#include "engine/analysis/WhatIfCap.h"

#include <gmock/gmock.h>

#include "tests/engine/analysis/HandMadeStep.h"

namespace lockstep::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Four parameters of 100 bytes, ready in the reverse of their registration, under caps of 100 and
// 200 bytes: buckets {3}, {2 1}, {0}.
class WhatIfCapTest : public testing::Test {
 protected:
  WhatIfCapTest()
      : made_(1),
        parameters_(4,
                    {.name = "p", .shape = {25}, .dtype = "float32", .numel = 25, .bytes = 100}) {
    made_.bucket({3}, 100).bucket({2, 1}, 200).bucket({0}, 200);
    made_.layout.layout = 1;
  }

  base::Result<std::vector<cost::PlannedBucket>> planWith(std::uint64_t capBytes) {
    return planWithCaps(parameters_, made_.layout, caps_, {caps_.firstBytes, capBytes, {}});
  }

  HandMadeStep made_;
  std::vector<trace::ParametersMessage::Parameter> parameters_;
  buckets::BucketCaps caps_{100, 200, {}};
};

TEST_F(WhatIfCapTest, PlansTheBucketsOfARebuildInTheSameOrder) {
  const auto larger = planWith(300);
  ASSERT_TRUE(larger.ok()) << larger.error().what;
  ASSERT_EQ(larger.value().size(), 2u);
  EXPECT_THAT(larger.value()[0].parameters, ElementsAre(3)) << "the first limit stays";
  EXPECT_THAT(larger.value()[1].parameters, ElementsAre(2, 1, 0));
  EXPECT_EQ(larger.value()[1].bytes, 300u);
  EXPECT_EQ(planWith(100).value().size(), 4u);
  EXPECT_EQ(planWith(200).value().size(), 3u) << "its own";
}

// {3} {2 1} {0} are what the list makes of them, too: another list has others.
TEST_F(WhatIfCapTest, OfAListOfCapsAnotherListIsKnown) {
  caps_.list = {100, 200};
  buckets::BucketCaps others = caps_;
  others.list = {300, 100};
  const auto plan = planWithCaps(parameters_, made_.layout, caps_, others);
  ASSERT_TRUE(plan.ok()) << plan.error().what;
  ASSERT_EQ(plan.value().size(), 2u);
  EXPECT_THAT(plan.value()[0].parameters, ElementsAre(3, 2, 1));
}

TEST_F(WhatIfCapTest, SaysWhyTheBucketsOfAnotherCapAreNotKnown) {
  caps_.capBytes = 300;
  EXPECT_THAT(planWith(400).error().what, HasSubstr("not what its caps alone make"));
  caps_.capBytes = 200;
  parameters_.emplace_back();
  EXPECT_THAT(planWith(400).error().what, HasSubstr("not what its caps alone make"));
  parameters_.pop_back();
  caps_.list = {100, 200};
  EXPECT_THAT(planWith(400).error().what,
              HasSubstr("it gives a list of caps: there is no one cap"));
  made_.layout.layout = 0;
  EXPECT_EQ(planWith(400).error().what,
            "its buckets were never rebuilt in the ready order: it ended too early, or "
            "ddp.find_unused_parameters keeps them as they are")
      << "with the latter, its cap made them";
}

}  // namespace
}  // namespace lockstep::analysis
