#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/engine/process_group/shaped/ShapedThreads.h"

namespace lockstep::process_group {
namespace {

/// The best of some rounds in ms: what the link does when nothing else holds the processor.
double best(ProcessGroup& group, std::int64_t bytes, int rounds) {
  at::Tensor data = at::zeros({bytes / 4});
  double fastest = 1e9;
  for (int round = 0; round < rounds; ++round) {
    group.barrier()->wait();
    fastest = std::min(fastest, millisecondsOf([&] { group.allreduce({data})->wait(); }));
  }
  return fastest;
}

/// The figures stand in the test's properties (--gtest_output=json), in microseconds.
TEST(ShapedAccuracy, KeepsTheBandwidthOfALinkWithinFivePercent) {
  runShaped(2, linkOf(1, 100), [](ProcessGroup& group, ProcessGroup& inner) {
    const double floor = best(inner, 1024, 20);  // what the backend needs for anything
    for (const int power : {10, 15, 18, 20, 23, 26}) {
      const std::int64_t bytes = std::int64_t{1} << power;
      const double took = best(group, bytes, power < 20 ? 20 : 3);
      const double modelled = static_cast<double>(bytes) * 8 * 1e-6 + 0.2;  // 1 Gbit/s, two hops
      EXPECT_GE(took, modelled) << bytes << " bytes";
      EXPECT_LE(took, (modelled + floor) * 1.05 + 0.1) << bytes << " bytes";
      if (group.rank() == 0) {
        testing::Test::RecordProperty("modelled_us_" + std::to_string(bytes),
                                      std::to_string(modelled * 1e3));
        testing::Test::RecordProperty("took_us_" + std::to_string(bytes),
                                      std::to_string(took * 1e3));
      }
    }
  });
}

TEST(ShapedAccuracy, AddsItsLatencyToASmallMessage) {
  runShaped(2, linkOf(0, 2000), [](ProcessGroup& group, ProcessGroup& inner) {
    const double plain = best(inner, 1024, 30);
    const double shaped = best(group, 1024, 30);
    // Two hops. The best of thirty still varies by what a wake-up costs.
    EXPECT_GE(shaped, 4);
    EXPECT_NEAR(shaped - plain, 4, 0.4);
  });
}

}  // namespace
}  // namespace lockstep::process_group
