#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/ddp/Join.h"
#include "engine/trace/Event.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"
#include "tests/support/RankRecording.h"

// DistributedDataParallel in a Join: what the ranks without inputs answer.

namespace lockstep::ddp {
namespace {

using test::Net;
using test::NormNet;

/// Trains `iterations` steps of which each rank r has its share, by plain SGD on one batch, and
/// returns the gradient of the bias in each step that this rank took part in.
std::vector<at::Tensor> train(DistributedDataParallel& ddp, NormNet& net, int iterations) {
  std::vector<at::Tensor> gradients;
  for (int i = 0; i < iterations; ++i) {
    net.zero_grad();
    ddp.setStep(static_cast<std::uint32_t>(i));
    ddp.forward<NormNet>(test::numbers({3, 4}, 9)).square().sum().backward();
    ddp.checkFinalized();
    gradients.push_back(net.norm->bias.grad().clone());
  }
  return gradients;
}

TEST(UnevenInputs, AreDividedByTheWorldSizeOrByTheLiveRanks) {
  for (const bool byWorldSize : {true, false}) {
    for (const bool unused : {false, true}) {
      test::runRanksWell(3, [&](auto group) {
        DdpOptions options;
        options.findUnusedParameters = unused;
        options.skipAllReduceUnusedParams = unused;
        auto net = std::make_shared<NormNet>();
        DistributedDataParallel ddp(net, group, options);
        JoinOptions joinOptions;
        joinOptions.divideByInitialWorldSize = byWorldSize;
        Join join({&ddp}, joinOptions);
        const int iterations = group->rank() == 1 ? 4 : group->rank();  // 0, 4, 2
        std::vector<at::Tensor> gradients;
        std::uint32_t step = 0;
        join.run(step, [&] {
          gradients = train(ddp, *net, iterations);
          step = static_cast<std::uint32_t>(iterations);
        });
        NormNet alone;
        alone.forward(test::numbers({3, 4}, 9)).square().sum().backward();
        for (std::size_t i = 0; i < gradients.size(); ++i) {
          const double live = i < 2 ? 2 : 1;
          const double share = byWorldSize ? live / 3 : 1;
          EXPECT_TRUE(at::allclose(gradients[i], alone.norm->bias.grad() * share, 1e-4))
              << "iteration " << i << " of rank " << group->rank();
        }
        EXPECT_EQ(join.shadowed(), 4u - iterations);
        EXPECT_EQ(ddp.hasRebuiltBuckets(), !unused);
      });
    }
  }
}

TEST(UnevenInputs, LeaveAllRanksWithTheModelOfTheLastToJoin) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<NormNet>();
    DistributedDataParallel ddp(net, group);
    Join join({&ddp});
    const int iterations = group->rank() == 0 ? 3 : 1;
    std::uint32_t step = 0;
    join.run(step, [&] {
      for (; step < static_cast<std::uint32_t>(iterations); ++step) {
        ddp.setStep(step);
        const auto input =
            test::numbers({3, 4}, 9) + group->rank() * 10.0 + static_cast<double>(step);
        ddp.forward<NormNet>(input).square().sum().backward();
      }
    });
    std::vector<at::Tensor> both{at::empty_like(net->norm->running_mean),
                                 at::empty_like(net->norm->running_mean)};
    group->allgather(both, net->norm->running_mean, {})->wait();
    EXPECT_TRUE(at::equal(both[0], both[1]));
    EXPECT_EQ(net->norm->num_batches_tracked.template item<std::int64_t>(), 3);
  });
}

TEST(UnevenInputs, AreOneShadowAnIterationInTheEvents) {
  test::runRanksWell(2, [](auto group) {
    support::RankRecording recording;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 3});
    DdpOptions options;
    options.tracer = &recording.tracer();
    DistributedDataParallel ddp(net, group, options);
    JoinOptions joinOptions;
    joinOptions.tracer = &recording.tracer();
    Join join({&ddp}, joinOptions);
    std::uint32_t step = 0;
    join.run(step, [&] {
      for (; step < (group->rank() == 0 ? 1u : 3u); ++step) {
        ddp.setStep(step);
        ddp.forward<Net>(at::ones({1, 4})).sum().backward();
      }
    });
    const auto shadows = recording.eventsOf(trace::EventKind::kJoinShadow);
    ASSERT_EQ(shadows.size(), group->rank() == 0 ? 2u : 0u);
    for (std::size_t i = 0; i < shadows.size(); ++i) {
      EXPECT_EQ(shadows[i].step, i + 1);
    }
  });
}

TEST(UnevenInputs, MayComeUnderNoSync) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<NormNet>();
    DistributedDataParallel ddp(net, group);
    Join join({&ddp});
    join.run(0u, [&] {
      for (int i = 0; i < 4 * group->rank(); ++i) {
        std::optional<DistributedDataParallel::NoSync> noSync;
        if (i % 2 == 0) {
          noSync.emplace(ddp);
        }
        ddp.forward<NormNet>(test::numbers({3, 4}, 9)).square().sum().backward();
      }
    });
    EXPECT_EQ(group->rank() == 0, join.shadowed() == 4);
  });
}

TEST(UnevenInputs, LetARankValidateAsOftenAsItLikes) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<NormNet>();
    DistributedDataParallel ddp(net, group);
    Join join({&ddp});
    const auto validate = [&] {
      torch::NoGradGuard noGrad;
      ddp.forward<NormNet>(test::numbers({3, 4}, 9) + group->rank() * 10.0);
    };
    std::uint32_t step = 0;
    join.run(step, [&] {
      for (; step < (group->rank() == 0 ? 1U : 3U); ++step) {
        train(ddp, *net, 1);
        const auto calls = group->sequenceNumber();
        for (int i = 0; i <= group->rank(); ++i) {
          validate();
        }
        EXPECT_EQ(group->sequenceNumber(), calls);
      }
    });
    EXPECT_EQ(join.shadowed(), group->rank() == 0 ? 2U : 0U);
    std::vector<at::Tensor> both{at::empty({3}), at::empty({3})};
    group->allgather(both, net->norm->running_mean, {})->wait();
    EXPECT_TRUE(at::equal(both[0], both[1]));
    EXPECT_EQ(net->norm->num_batches_tracked.template item<std::int64_t>(), 9);
  });
}

TEST(UnevenInputs, MayMissTheIterationThatDecidesTheRebuiltOrder) {
  test::runRanksWell(2, [](auto group) {
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 3});
    DistributedDataParallel ddp(net, group);
    Join join({&ddp});
    join.run(0u, [&] {
      for (int i = 0; i < 3 * group->rank(); ++i) {
        ddp.forward<Net>(at::ones({1, 4})).sum().backward();
      }
    });
    EXPECT_TRUE(ddp.hasRebuiltBuckets());
    EXPECT_EQ(ddp.plan().indices(), (std::vector<std::vector<std::uint32_t>>{{1, 0}}));
  });
}

}  // namespace
}  // namespace lockstep::ddp
