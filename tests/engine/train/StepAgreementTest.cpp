#include "engine/train/StepAgreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <optional>
#include <thread>

#include "engine/store/HashStore.h"
#include "tests/support/RankThreads.h"

namespace lockstep::train {
namespace {

using experiment::SettingChange;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Lt;
using testing::ThrowsMessage;

/// What a rank did.
struct Trail {
  std::int64_t steps = 0;
  std::vector<std::pair<std::int64_t, SettingChange>> changes;  ///< before which step
};

struct Plan {
  int world = 2;
  std::vector<int> asked;       ///< to stop
  std::int64_t atStep = 0;      ///< before which step of their own they are asked
  std::int64_t last = 1000;     ///< steps without a stop
  bool together = true;         ///< the ranks end each step together, as an allreduce makes them
  milliseconds lease{0};
};

/// Lets ranks run steps; `before` is called by rank 0 before each.
std::vector<Trail> runSteps(const Plan& plan, store::Store& store,
                            const std::function<void(std::int64_t step)>& before = nullptr) {
  std::vector<Trail> trails(static_cast<std::size_t>(plan.world));
  std::barrier allreduce(plan.world);
  support::runRanks(plan.world, [&](int rank) {
    std::atomic<bool> requested{false};
    StepAgreement agreement(store, rank, plan.world, requested, plan.lease);
    Trail& trail = trails[static_cast<std::size_t>(rank)];
    bool stopped = false;
    while (trail.steps < plan.last && !stopped) {
      if (rank == 0 && before != nullptr) {
        before(trail.steps);
      }
      if (trail.steps == plan.atStep &&
          std::find(plan.asked.begin(), plan.asked.end(), rank) != plan.asked.end()) {
        requested = true;
      }
      if (plan.together) {
        allreduce.arrive_and_wait();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(20 * (rank + 1)));
      }
      ++trail.steps;
      if (trail.steps < plan.last) {
        const StepDecision decision = agreement.before(trail.steps);
        stopped = decision.stop;
        for (const auto& change : decision.changes) {
          trail.changes.emplace_back(trail.steps, change);
        }
      }
    }
    if (!stopped) {
      agreement.leave(trail.steps, false);
    }
  });
  return trails;
}

std::vector<std::int64_t> stepsOf(const std::vector<Trail>& trails) {
  std::vector<std::int64_t> steps;
  for (const Trail& trail : trails) {
    steps.push_back(trail.steps);
  }
  return steps;
}

TEST(StepAgreement, StopsAllRanksBeforeTheStepAfterRankZeroIsAsked) {
  for (int world : {1, 2, 3, 5}) {
    store::HashStore store;
    EXPECT_THAT(stepsOf(runSteps({world, {0}, 10}, store)), Each(11)) << world << " ranks";
  }
}

TEST(StepAgreement, StopsAllRanksAtOneStepWhoeverIsAsked) {
  for (int asked : {1, 2}) {
    store::HashStore store;
    const auto steps = stepsOf(runSteps({3, {asked}, 5, 100000}, store));
    EXPECT_THAT(steps, AllOf(Each(steps[0]), Each(Ge(6)), Each(Lt(100))));
  }
}

TEST(StepAgreement, StopsRanksAtOneStepThatDoNotWaitForOneAnother) {
  for (int asked : {0, 3}) {
    store::HashStore store;
    const auto steps = stepsOf(runSteps({4, {asked}, 20, 100000, false, milliseconds(2)}, store));
    EXPECT_THAT(steps, AllOf(Each(steps[0]), Each(Ge(20)), Each(Lt(100000))));
  }
}

TEST(StepAgreement, ChangesASettingBeforeTheSameStepOnAllRanks) {
  for (const bool together : {true, false}) {
    store::HashStore store;
    const SettingChange density{"hook.density", "0.05"};
    const SettingChange mode{"hook.inner.mode", "\"ring\""};
    const auto trails = runSteps({3, {}, 0, 300, together}, store, [&](std::int64_t step) {
      if (step == 40) {
        store.set(experiment::changeKey(0), experiment::toJson(density));
        store.set(experiment::changeKey(1), experiment::toJson(mode));
      }
    });
    for (const Trail& trail : trails) {
      EXPECT_THAT(trail.changes, ElementsAre(std::pair(std::int64_t{41}, density),
                                             std::pair(std::int64_t{41}, mode)));
    }
  }
}

TEST(StepAgreement, NeverStopsWhenNobodyIsAsked) {
  store::HashStore store;
  EXPECT_THAT(stepsOf(runSteps({2, {}, 0, 200}, store)), Each(200));
}

TEST(StepAgreement, AsksTheStoreOnceALeaseAndLeavesNothingBehind) {
  store::HashStore store;
  // The stride doubles until a lease is full, so 1000 steps have about ten boundaries.
  const auto trails = runSteps({3, {}, 0, 1000, true, milliseconds(3600000)}, store);
  EXPECT_THAT(stepsOf(trails), Each(1000));
  EXPECT_EQ(store.getNumKeys(), 1) << "the word of rank 0 that it leaves";
}

TEST(StepAgreement, LetsRanksGoOnThatHaveMoreInputsThanRankZero) {
  constexpr int kWorld = 2;
  store::HashStore store;
  std::vector<std::int64_t> done(kWorld);
  support::runRanks(kWorld, [&](int rank) {
    std::atomic<bool> requested{false};
    StepAgreement agreement(store, rank, kWorld, requested, milliseconds(0));
    std::int64_t& step = done[static_cast<std::size_t>(rank)];
    for (const std::int64_t own = rank == 0 ? 7 : 20; step < own; ++step) {
      EXPECT_FALSE(agreement.before(step).stop);
    }
    agreement.leave(step, false);
  });
  EXPECT_THAT(done, ElementsAre(7, 20));
}

TEST(StepAgreement, SaysThatItWaitedForRankZero) {
  store::HashStore store(milliseconds(20));
  std::atomic<bool> requested{false};
  StepAgreement agreement(store, 1, 2, requested, milliseconds(0));
  EXPECT_THAT([&] { agreement.before(12); },
              ThrowsMessage<store::StoreError>(
                  HasSubstr("rank 0 did not say whether to begin step 12")));
}

/// As in a Join: each iteration sums a one of every rank that has inputs, and those that have
/// none shadow the others' iterations until the sum is 0.
class StepAgreementInJoin : public testing::TestWithParam<int> {};

TEST_P(StepAgreementInJoin, StopsTogetherWhenTheRankWithoutInputsIsAsked) {
  constexpr int kWorld = 3;
  constexpr std::int64_t kFewInputs = 7;
  const int poor = GetParam();
  store::HashStore store;
  std::vector<std::int64_t> done(kWorld);
  std::atomic<int> sum{0};
  std::atomic<int> live{0};
  std::barrier begin(kWorld, [&]() noexcept { live = sum.exchange(0); });
  std::barrier allreduce(kWorld);
  support::runRanks(kWorld, [&](int rank) {
    std::atomic<bool> requested{false};
    StepAgreement agreement(store, rank, kWorld, requested, milliseconds(0));
    const std::int64_t own = rank == poor ? kFewInputs : 100000;
    std::int64_t step = 0;
    for (bool stopped = false; step < own && !stopped;
         stopped = step < own && agreement.before(step).stop) {
      ++sum;
      begin.arrive_and_wait();
      allreduce.arrive_and_wait();
      ++step;
    }
    done[static_cast<std::size_t>(rank)] = step;
    if (rank == poor) {
      agreement.leave(step, true);
      requested = true;
    }
    for (begin.arrive_and_wait(); live > 0; begin.arrive_and_wait()) {
      allreduce.arrive_and_wait();
      agreement.shadowed(++step);
    }
  });
  EXPECT_EQ(done[static_cast<std::size_t>(poor)], kFewInputs);
  const auto rich = static_cast<std::size_t>(poor == 0 ? 1 : 0);
  const auto other = static_cast<std::size_t>(poor == 2 ? 1 : 2);
  EXPECT_EQ(done[rich], done[other]);
  EXPECT_GT(done[rich], kFewInputs);
  EXPECT_LT(done[rich], 1000);
}

INSTANTIATE_TEST_SUITE_P(OfRank, StepAgreementInJoin, testing::Values(0, 2));

}  // namespace
}  // namespace lockstep::train
