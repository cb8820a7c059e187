// Which error a rank ends with, where several have one, or a peer's only.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "engine/ddp/DistributedDataParallel.h"
#include "tests/engine/ddp/GlooRanks.h"
#include "tests/engine/ddp/TestModels.h"

#if defined(LOCKSTEP_WITH_GLOO)

namespace lockstep::ddp {
namespace {

using process_group::CheckMode;
using test::GroupPtr;
using test::Net;
using test::TwoHeads;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

// Backend, and how its calls are checked.
class OwnError : public testing::TestWithParam<std::tuple<std::string, CheckMode>> {
 protected:
  static constexpr int kRounds = 20;

  // As lockstep-rank does: who fails tells the others, and leaves.
  static std::vector<std::string> run(int world, const std::function<void(GroupPtr&)>& body) {
    process_group::GroupOptions options = test::glooOptions();
    options.check = std::get<1>(GetParam());
    return test::runOverGloo(
        world,
        [&](GroupPtr group) {
          try {
            body(group);
          } catch (const std::exception& error) {
            group->abort(error.what());
            throw;
          }
        },
        options, std::get<0>(GetParam()));
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, OwnError,
                         testing::Combine(testing::Values("gloo", "shared_memory"),
                                          testing::Values(CheckMode::kOff, CheckMode::kAlways)),
                         [](const auto& info) {
                           return std::get<0>(info.param) +
                                  (std::get<1>(info.param) == CheckMode::kOff ? "" : "_checked");
                         });

TEST_P(OwnError, OfTheConstructorComesFirstWhateverTheTiming) {
  for (int round = 0; round < kRounds; ++round) {
    const auto errors = run(3, [](GroupPtr& group) {
      const std::int64_t last = group->rank() == 2 ? 3 : 2;
      DistributedDataParallel ddp(std::make_shared<Net>(std::vector<std::int64_t>{4, last}), group);
    });
    ASSERT_THAT(errors, Each(AllOf(HasSubstr("rank 2 did not build the same model"),
                                   Not(HasSubstr("gave up")))))
        << "round " << round;
  }
}

TEST_P(OwnError, OfTheConstructorNamesWhoDiffersFromMostAndNotFromRank0) {
  const auto errors = run(3, [](GroupPtr& group) {
    const std::int64_t last = group->rank() == 0 ? 3 : 2;
    DistributedDataParallel ddp(std::make_shared<Net>(std::vector<std::int64_t>{4, last}), group);
  });
  EXPECT_THAT(errors,
              Each(AllOf(HasSubstr("rank 0 did not build the same model and settings as rank 1"),
                         HasSubstr(". Make the model, the settings of DistributedDataParallel and "
                                   "the version of Lockstep the same on every rank."))));
}

TEST_P(OwnError, OfTheConstructorComesBeforeWhatAPeerSays) {
  for (int round = 0; round < kRounds; ++round) {
    const auto errors = run(2, [](GroupPtr& group) {
      auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 2});
      DdpOptions options;
      if (group->rank() == 0) {
        options.bucketCapMb = -1;
        DistributedDataParallel ddp(net, group, options);
      } else {
        options.initSync = false;
        DistributedDataParallel first(net, group, options);
        DistributedDataParallel second(net, group);
      }
    });
    ASSERT_THAT(errors[0], HasSubstr("a bucket cap of -1 MiB is not possible"))
        << "round " << round;
    ASSERT_THAT(errors[1], HasSubstr("is reduced by another DistributedDataParallel already"))
        << "round " << round;
  }
}

TEST_P(OwnError, OfAMissingGradientComesFirstWhateverTheTiming) {
  for (int round = 0; round < kRounds; ++round) {
    const auto errors = run(3, [](GroupPtr& group) {
      DistributedDataParallel ddp(std::make_shared<TwoHeads>(), group, test::withCaps(1, 1));
      auto loss = ddp.forward<TwoHeads>(at::ones({1, 4})).first.sum();
      loss.backward();
      ddp.checkFinalized();
    });
    for (int rank = 0; rank < 3; ++rank) {
      ASSERT_THAT(errors[static_cast<std::size_t>(rank)],
                  testing::StartsWith("rank " + std::to_string(rank) + ": the backward of step 0"))
          << "round " << round;
    }
  }
}

TEST_P(OwnError, OfTheUsersForwardReachesTheOthersWithItsText) {
  const auto errors = run(3, [](GroupPtr& group) {
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 2});
    DistributedDataParallel ddp(net, group);
    ddp.setStep(7);
    auto loss = ddp.run([&] {
      if (group->rank() == 1) {
        throw std::out_of_range("label 17 of 10 classes");
      }
      return net->forward(at::ones({1, 4})).sum();
    });
    loss.backward();
    ddp.checkFinalized();
  });
  EXPECT_EQ(errors[1], "label 17 of 10 classes");
  for (const std::size_t rank : {0, 2}) {
    EXPECT_THAT(errors[rank],
                HasSubstr("rank 1: the forward of step 7 ended in an exception: label "
                          "17 of 10 classes"));
  }
}

TEST(OwnErrorOfAForward, IsRepeatedByTheNextOne) {
  const auto errors = test::runOverGloo(1, [](GroupPtr group) {
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 2});
    DistributedDataParallel ddp(net, group);
    EXPECT_THROW(ddp.run([] { throw 5; }), int);
    ddp.forward<Net>(at::ones({1, 4}));
  });
  EXPECT_THAT(errors, Each(HasSubstr("the forward of step 0 ended in an exception: one that is no "
                                     "std::exception")));
}

}  // namespace
}  // namespace lockstep::ddp

#endif
