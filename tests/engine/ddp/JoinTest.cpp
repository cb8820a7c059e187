#include "engine/ddp/Join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/ZeroRedundancyOptimizer.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"
#include "tests/support/RankRecording.h"

namespace lockstep::ddp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The least that trains data-parallel: averages what the ranks bring, an iteration at a time, and
/// takes the value of the last rank to join in the end.
class Averager final : public Joinable {
 public:
  explicit Averager(std::shared_ptr<process_group::ProcessGroup> group)
      : group_(std::move(group)) {}

  double average(double own) {
    notifyJoin();
    return last_ = sum(own) / joinDivisor();
  }

  void shadow(std::uint32_t step) override {
    shadowedSteps.push_back(step);
    sum(0);
  }
  void allJoined(bool lastJoiner) override {
    finalRank = largestRank(*group_, lastJoiner, joinDevice());
    const at::Tensor value = at::full({1}, last_, at::kDouble);
    group_->broadcast({value}, finalRank, {})->wait();
    last_ = value.item<double>();
  }
  [[nodiscard]] process_group::ProcessGroup& joinGroup() const override { return *group_; }
  [[nodiscard]] at::Device joinDevice() const override { return at::kCPU; }
  [[nodiscard]] bool isJoining() const { return joining(); }
  [[nodiscard]] double last() const { return last_; }

  std::vector<std::uint32_t> shadowedSteps;
  int finalRank = -1;

 private:
  double sum(double own) {
    const at::Tensor number = at::full({1}, own, at::kDouble);
    group_->allreduce({number}, process_group::ReduceOp::kSum, {})->wait();
    return number.item<double>();
  }

  std::shared_ptr<process_group::ProcessGroup> group_;
  double last_ = 0;
};

double input(int rank, int step) {
  return 10.0 * (rank + 1) + step;
}

struct Uneven : testing::TestWithParam<std::tuple<std::vector<int>, bool>> {};

TEST_P(Uneven, InputsAverageAsOneProcessWouldAndEndOnTheLastRanksModel) {
  const auto& [inputs, byInitialSize] = GetParam();
  const int longest = *std::max_element(inputs.begin(), inputs.end());
  std::vector<double> expected;
  for (int step = 0; step < longest; ++step) {
    double sum = 0;
    int live = 0;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      if (step < inputs[rank]) {
        sum += input(static_cast<int>(rank), step);
        ++live;
      }
    }
    expected.push_back(sum / (byInitialSize ? static_cast<int>(inputs.size()) : live));
  }
  int last = 0;
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    last = inputs[rank] == longest ? static_cast<int>(rank) : last;
  }
  test::runRanksWell(static_cast<int>(inputs.size()), [&, inputs = inputs,
                                                       byInitialSize = byInitialSize](auto group) {
    Averager averager(group);
    JoinOptions options;
    options.divideByInitialWorldSize = byInitialSize;
    Join join({&averager}, options);
    const int own = inputs[static_cast<std::size_t>(group->rank())];
    std::uint32_t step = 0;
    join.run(step, [&] {
      for (; step < static_cast<std::uint32_t>(own); ++step) {
        EXPECT_DOUBLE_EQ(averager.average(input(group->rank(), static_cast<int>(step))),
                         expected[step]);
      }
    });
    EXPECT_EQ(join.shadowed(), static_cast<std::uint64_t>(longest - own));
    for (int i = 0; i < longest - own; ++i) {
      EXPECT_EQ(averager.shadowedSteps[static_cast<std::size_t>(i)],
                static_cast<std::uint32_t>(own + i));
    }
    EXPECT_EQ(averager.finalRank, last);
    EXPECT_DOUBLE_EQ(averager.last(), longest == 0 ? 0 : expected.back());
    EXPECT_FALSE(averager.isJoining());
  });
}

INSTANTIATE_TEST_SUITE_P(
    Join, Uneven,
    testing::Combine(testing::Values(std::vector<int>{3, 5}, std::vector<int>{4, 4},
                                     std::vector<int>{5, 0}, std::vector<int>{0, 0},
                                     std::vector<int>{2, 6, 4}, std::vector<int>{7, 7, 1, 0}),
                     testing::Bool()));

TEST(Join, ThrowsOnEveryRankWhenOneRunsOutAndThatIsAsked) {
  const auto errors = test::runRanks(3, [](auto group) {
    Averager averager(group);
    JoinOptions options;
    options.throwOnEarlyTermination = true;
    Join join({&averager}, options);
    std::uint32_t step = 0;
    join.run(step, [&] {
      for (; step < (group->rank() == 1 ? 2u : 4u); ++step) {
        averager.average(1);
      }
    });
  });
  const std::string others =
      "Detected at least one rank that exhausted inputs. Throwing across all ranks.";
  EXPECT_THAT(errors, ElementsAre(others, "Rank 1 exhausted all inputs.", others));
}

TEST(Join, WarnsARankOnceThatItsInputsEndedLongBeforeTheOthers) {
  test::runRanksWell(2, [](auto group) {
    support::RankRecording recording;
    Averager averager(group);
    JoinOptions options;
    options.tracer = &recording.tracer();
    Join join({&averager}, options);
    std::uint32_t step = 0;
    join.run(step, [&] {
      for (; step < (group->rank() == 0 ? 2u : 1004u); ++step) {
        averager.average(1);
      }
    });
    const auto messages = recording.messages();
    ASSERT_EQ(messages.size(), group->rank() == 0 ? 1u : 0u);
    if (group->rank() == 0) {
      const auto& problem = std::get<trace::ProblemMessage>(messages[0]);
      EXPECT_EQ(problem.text,
                "rank 0 had at least 1000 fewer inputs than other ranks and still shadows their "
                "iterations; share the inputs more evenly (said once)");
      EXPECT_EQ(problem.step, 1002u);
    }
  });
}

TEST(Join, SaysThatNoRankHasTheDataThatAllAreToTake) {
  EXPECT_THAT(test::runRanks(
                  2, [](auto group) { static_cast<void>(largestRank(*group, false, at::kCPU)); }),
              testing::Each("no rank offers the data that all are to take: Join's ranks disagree"));
}

TEST(Join, EndsQuietlyWhenThatIsAskedAndInputsAreEven) {
  test::runRanksWell(2, [](auto group) {
    Averager averager(group);
    JoinOptions options;
    options.throwOnEarlyTermination = true;
    Join join({&averager}, options);
    for (int step = 0; step < 3; ++step) {
      EXPECT_DOUBLE_EQ(averager.average(group->rank()), 0.5);
    }
    join.finish(3);
    EXPECT_EQ(join.shadowed(), 0u);
  });
}

TEST(Join, DoesNothingWhenDisabled) {
  test::runRanksWell(2, [](auto group) {
    Averager averager(group);
    JoinOptions options;
    options.enable = false;
    Join join({&averager}, options);
    EXPECT_FALSE(averager.isJoining());
    EXPECT_DOUBLE_EQ(averager.average(3), 3);
    join.finish();
    EXPECT_EQ(group->sequenceNumber(), 1u);
  });
}

TEST(Join, LetsAnExceptionOfTheLoopPassStraightThrough) {
  test::runRanksWell(1, [](auto group) {
    Averager averager(group);
    {
      Join join({&averager});
      const std::uint32_t step = 0;
      EXPECT_THROW(join.run(step, [] { throw std::out_of_range("mine"); }), std::out_of_range);
    }
    EXPECT_EQ(group->sequenceNumber(), 0u);
    EXPECT_FALSE(averager.isJoining());
  });
}

TEST(Join, RefusesNoJoinablesDifferentGroupsAndASecondJoin) {
  const auto textOf = [](std::vector<Joinable*> joinables) -> std::string {
    try {
      Join join(std::move(joinables));
    } catch (const DdpError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(textOf({}), HasSubstr("at least one joinable"));
  test::runRanksWell(1, [&](auto group) {
    Averager one(group);
    test::runRanksWell(1, [&](auto other) {
      Averager two(other);
      EXPECT_THAT(textOf({&one, &two}),
                  HasSubstr("the joinables of one Join use different process groups"));
    });
    Join join({&one});
    EXPECT_THAT(textOf({&one}),
                HasSubstr("a joinable is in another Join already; end that one first"));
  });
}

TEST(Join, OnlyTheFirstJoinableCounts) {
  test::runRanksWell(2, [](auto group) {
    Averager first(group);
    Averager second(group);
    JoinOptions options;
    options.divideByInitialWorldSize = false;
    Join join({&first, &second}, options);
    for (int step = 0; step <= group->rank(); ++step) {
      EXPECT_DOUBLE_EQ(first.average(2), step == 0 ? 2 : 2.0);
      const auto before = group->sequenceNumber();
      EXPECT_DOUBLE_EQ(second.average(2), step == 0 ? 2 : 1);
      EXPECT_EQ(group->sequenceNumber(), before + 1);
    }
    join.finish(0);
    EXPECT_EQ(second.finalRank, 1);
  });
}

/// Leaves the average in a parameter's gradient on the ranks with inputs.
class GradientAverager final : public Joinable {
 public:
  GradientAverager(std::shared_ptr<process_group::ProcessGroup> group, at::Tensor parameter)
      : group_(std::move(group)), parameter_(std::move(parameter)) {}
  void average(const at::Tensor& own) {
    notifyJoin();
    set(own.clone());
  }
  void shadow(std::uint32_t) override {
    group_->allreduce({at::zeros_like(parameter_)}, process_group::ReduceOp::kSum, {})->wait();
  }
  void allJoined(bool) override {}
  [[nodiscard]] process_group::ProcessGroup& joinGroup() const override { return *group_; }
  [[nodiscard]] at::Device joinDevice() const override { return at::kCPU; }

 private:
  void set(const at::Tensor& gradient) {
    group_->allreduce({gradient}, process_group::ReduceOp::kSum, {})->wait();
    parameter_.mutable_grad() = gradient / group_->size();
  }
  std::shared_ptr<process_group::ProcessGroup> group_;
  at::Tensor parameter_;
};

TEST(Join, KeepsTheOwnerOfAShardSteppingAfterItsInputsEnded) {
  const std::vector<int> inputs{1, 4};  // rank 0 owns the only parameter
  experiment::OptimizerConfig config;
  config.kind = "adam";
  const auto gradient = [](int rank, int step) {
    return at::full({3}, input(rank, step) - 20, at::kFloat);
  };
  const at::Tensor alone = at::ones({3}).requires_grad_();
  auto optimizer = optim::ParameterOptimizer::make(config, {alone}).value();
  for (int step = 0; step < 4; ++step) {
    at::Tensor sum = gradient(1, step).clone();
    if (step < 1) {
      sum += gradient(0, step);
    }
    optimizer->step(0, sum / 2);
  }
  test::runRanksWell(2, [&](auto group) {
    const at::Tensor parameter = at::ones({3}).requires_grad_();
    GradientAverager averager(group, parameter);
    ZeroRedundancyOptimizer zero({{"p", parameter}}, group, config);
    Join join({&averager, &zero});
    std::uint32_t step = 0;
    join.run(step, [&] {
      for (; step < static_cast<std::uint32_t>(inputs[static_cast<std::size_t>(group->rank())]);
           ++step) {
        averager.average(gradient(group->rank(), static_cast<int>(step)));
        zero.step();
      }
    });
    EXPECT_TRUE(at::allclose(parameter, alone, 1e-6, 1e-6));
  });
}

}  // namespace
}  // namespace lockstep::ddp
