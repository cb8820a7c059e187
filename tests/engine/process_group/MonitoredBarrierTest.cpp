#include "engine/process_group/MonitoredBarrier.h"

#include <gmock/gmock.h>

#include <chrono>
#include <latch>

#include "tests/engine/process_group/GroupThreads.h"

namespace lockstep::process_group {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

TEST(MonitoredBarrier, PassesWhenAllRanksCome) {
  for (const int size : {1, 2, 4}) {
    runGroup(size, [](ProcessGroup& group) {
      for (int time = 0; time < 3; ++time) {
        monitoredBarrier(group, seconds(10), time == 1);
      }
      EXPECT_EQ(group.state(), GroupState::kSuccess);
      EXPECT_EQ(group.sequenceNumber(), 0u) << "made of sends and receives";
    });
  }
}

TEST(MonitoredBarrier, NamesEveryMissingRankOnAllThatCame) {
  for (const bool all : {false, true}) {
    std::latch done(4);
    runGroup(4, [&](ProcessGroup& group) {
      if (group.rank() == 0) {
        EXPECT_THAT(textOf<CommError>([&] { monitoredBarrier(group, milliseconds(300), all); }),
                    HasSubstr("Ranks 1, 3 failed to pass monitoredBarrier in 300 ms; ranks 0, 2 "
                              "came"));
        EXPECT_EQ(group.state(), GroupState::kCommError) << "aborted";
      } else if (group.rank() == 2) {
        EXPECT_THAT(textOf<CommError>([&] { monitoredBarrier(group, milliseconds(300), all); }),
                    HasSubstr("rank 0 says: Ranks 1, 3 failed to pass monitoredBarrier"));
      }
      done.arrive_and_wait();
    });
  }
}

TEST(MonitoredBarrier, TellsALateRankWhoGaveUp) {
  std::latch gaveUp(2);
  runGroup(2, [&](ProcessGroup& group) {
    if (group.rank() == 0) {
      EXPECT_THAT(textOf<CommError>([&] { monitoredBarrier(group, milliseconds(100)); }),
                  HasSubstr("Rank 1 failed to pass monitoredBarrier in 100 ms; rank 0 came"));
      gaveUp.arrive_and_wait();
      return;
    }
    gaveUp.arrive_and_wait();
    EXPECT_THAT(textOf<CommError>([&] { monitoredBarrier(group, seconds(10)); }),
                AllOf(HasSubstr("Rank 1 successfully reached monitoredBarrier, but received errors "
                                "while waiting for send/recv from rank 0"),
                      HasSubstr("Rank 1 failed to pass monitoredBarrier in 100 ms")));
  });
}

TEST(MonitoredBarrier, SaysWhenRankZeroDoesNotAnswer) {
  std::latch done(2);
  runGroup(2, [&](ProcessGroup& group) {
    if (group.rank() == 1) {
      EXPECT_THAT(textOf<CommError>([&] { monitoredBarrier(group, milliseconds(100)); }),
                  HasSubstr("Rank 1 successfully reached monitoredBarrier, but received errors "
                            "while waiting for send/recv from rank 0: no answer in 1100 ms"));
    }
    done.arrive_and_wait();
  });
}

TEST(MonitoredBarrier, GoesThroughEveryWrapper) {
  GroupOptions options = quickOptions();
  options.check = CheckMode::kAlways;
  options.roundRobin = 2;
  runGroup(3, [](ProcessGroup& group) { monitoredBarrier(group, seconds(10)); }, options);
}

TEST(MonitoredBarrier, RefusesANegativeTime) {
  runGroup(1, [](ProcessGroup& group) {
    EXPECT_EQ(textOf<std::invalid_argument>([&] { monitoredBarrier(group, milliseconds(-1)); }),
              "gloo::barrier: timeout is -1 ms; it must not be negative");
  });
}

}  // namespace
}  // namespace lockstep::process_group
