#include "engine/trace/EventCost.h"

#include <gtest/gtest.h>

namespace lockstep::trace {
namespace {

TEST(EventCost, IsMoreThanNothingAndFarLessThanASystemCallOfAMicrosecondEvenHere) {
  const double ns = eventCostNs();
  EXPECT_GT(ns, 1);
  EXPECT_LT(ns, 5'000) << "sanitizers and a loaded machine included";
}

}  // namespace
}  // namespace lockstep::trace
