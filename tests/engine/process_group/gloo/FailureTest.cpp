// What ranks that live see when something goes wrong between them.

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <latch>

#include "tests/engine/process_group/GroupThreads.h"
#include "tests/engine/process_group/SlowNetwork.h"

namespace lockstep::process_group {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;

CallOptions within(milliseconds timeout, std::uint16_t bucket = trace::kNoBucket) {
  CallOptions options;
  options.timeout = timeout;
  options.bucket = bucket;
  return options;
}

TEST(GlooFailure, TimeOutNamesOperationBucketAndTheRankThatIsMissing) {
  std::latch done(3);
  runGroup(3, [&](ProcessGroup& group) {
    if (group.rank() != 2) {
      const auto work = group.allreduce({at::ones({8})}, ReduceOp::kSum, within(milliseconds(600), 4));
      try {
        work->wait();
        ADD_FAILURE() << "the allreduce ended without rank 2";
      } catch (const CommError& error) {
        // The first to notice says so itself; the other may hear of it.
        EXPECT_THAT(error.what(),
                    AllOf(HasSubstr("allreduce #1 of group default, rank " +
                                    std::to_string(group.rank()) + ", bucket 4: "),
                          HasSubstr("timed out after 600 ms"),
                          HasSubstr("rank 2 has not reported being in this operation")));
        EXPECT_EQ(error.where().bucket, 4);
        EXPECT_EQ(error.where().sequence, 1u);
        EXPECT_EQ(error.where().operation, trace::Operation::kAllreduce);
      }
    }
    done.arrive_and_wait();
  });
}

TEST(GlooFailure, TimeOutNamesWhomItWaitedFor) {
  std::latch done(2);
  runGroup(2, [&](ProcessGroup& group) {
    if (group.rank() == 0) {
      const auto begin = steady_clock::now();
      const auto work = group.broadcast({at::ones({8})}, 1, within(milliseconds(200)));
      EXPECT_THAT(textOf<CommError>([&] { work->wait(); }),
                  HasSubstr("broadcast #1 of group default, rank 0: timed out after 200 ms, "
                            "waiting for data from rank 1"));
      EXPECT_LT(steady_clock::now() - begin, seconds(5));
    }
    done.arrive_and_wait();
  });
}

TEST(GlooFailure, TellsTheOtherRanksWhyARankGaveUp) {
  runGroup(2, [](ProcessGroup& group) {
    at::Tensor tensor = at::ones({8});
    if (group.rank() == 0) {
      EXPECT_THROW(group.recv(tensor, 1, 9, within(milliseconds(100)))->wait(), CommError);
    } else {
      EXPECT_THAT(textOf<CommError>([&] { group.broadcast({tensor}, 0)->wait(); }),
                  AllOf(HasSubstr("broadcast #1 of group default, rank 1: lost the connection to "
                                  "rank 0"),
                        HasSubstr("rank 0 gave up: given up because recv #1 failed: timed out "
                                  "after 100 ms")));
    }
  });
}

// DDP's gap 6: upstream ends the process here.

// DDP's gap 5: upstream mixes sums and maxima in silence.

TEST(GlooRendezvous, NamesTheRanksThatDoNotCome) {
  GroupOptions options = quickOptions(milliseconds(100));
  options.groupName = "trio";
  auto made = makeProcessGroup("gloo", std::make_shared<store::HashStore>(), 1, 3, options);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, base::ExitCode::kCommFailed);
  EXPECT_EQ(made.error().message(),
            "rank 1, group trio: timed out after 100 ms waiting for ranks 0, 2 to join");
}

TEST(GlooRendezvous, NoticesTwoProcessesWithOneRank) {
  const auto store = std::make_shared<store::HashStore>();
  auto first = makeProcessGroup("gloo", store, 0, 1, quickOptions());
  ASSERT_TRUE(first.ok());
  auto second = makeProcessGroup("gloo", store, 0, 1, quickOptions());
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message(),
              HasSubstr("rank 0 has joined group default already: two processes with RANK=0"));
}

TEST(GlooRendezvous, NamesAnInterfaceThatIsNotThere) {
  const auto store = std::make_shared<store::HashStore>();
  GroupOptions options = quickOptions(seconds(5));
  options.interfaces = {"nosuch0"};
  support::runRanks(2, [&](int rank) {
    auto made = makeProcessGroup("gloo", store, rank, 2, options);
    ASSERT_FALSE(made.ok());
    EXPECT_THAT(made.error().message(),
                HasSubstr("cannot use network interface or address \"nosuch0\""));
  });
}

TEST(GlooRendezvous, LetsSeveralGroupsMeetOnOneStore) {
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(2, [&](int rank) {
    std::vector<std::shared_ptr<ProcessGroup>> groups;
    for (const char* name : {"first", "second"}) {
      GroupOptions options = quickOptions();
      options.groupName = name;
      auto made = makeProcessGroup("gloo", store, rank, 2, options);
      ASSERT_TRUE(made.ok()) << made.error().message();
      groups.push_back(std::move(made).value());
    }
    at::Tensor a = filled(3, 1);
    at::Tensor b = filled(3, 2);
    const auto first = groups[0]->allreduce({a});
    const auto second = groups[1]->allreduce({b});
    second->wait();
    first->wait();
    EXPECT_TRUE(at::equal(a, filled(3, 2)));
    EXPECT_TRUE(at::equal(b, filled(3, 4)));
    groups[0]->barrier()->wait();
  });
}

TEST(GlooRendezvous, GivesNobodyTheGroupBeforeAllAreConnected) {
  // One that ended before would end a rank that is still connecting.
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(3, [&](int rank) {
    GroupOptions options;
    options.groupName = "trio";
    const auto made = makeProcessGroup("gloo", store, rank, 3, options);
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_TRUE(store->check(
        {"gloo/trio/connected/0", "gloo/trio/connected/1", "gloo/trio/connected/2"}));
    made.value()->barrier()->wait();
  });
}

TEST(GlooFailure, AnAbortSparesACollectiveForAsLongAsItsBytesMove) {
  expectSparedWhileBytesMove([](const auto& body) { runGroup(2, body); });
}

}  // namespace
}  // namespace lockstep::process_group
