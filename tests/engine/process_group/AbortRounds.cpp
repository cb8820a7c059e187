#include "tests/engine/process_group/AbortRounds.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <latch>
#include <thread>
#include <vector>

#include "engine/store/HashStore.h"
#include "tests/support/RankThreads.h"

namespace lockstep::process_group {
namespace {

// On the board of shared memory; beyond it; several chunks of what is laid out.
constexpr std::array<std::int64_t, 3> kElements{1'000, 30'000, 400'000};
constexpr int kOrders = 3;

}  // namespace

AbortRound AbortRound::of(int number, int ranks) {
  AbortRound round;
  round.aborter = number % ranks;
  number /= ranks;
  round.order = static_cast<Order>(number % kOrders);
  number /= kOrders;
  round.elements = kElements[static_cast<std::size_t>(number) % kElements.size()];
  return round;
}

std::string AbortRound::text() const {
  const char* const when = order == Order::kOthersWait       ? "while the others wait"
                           : order == Order::kOthersComeLate ? "before the others look"
                                                             : "before anybody has waited";
  return fmt::format("rank {} aborts {}, {} elements", aborter, when, elements);
}

std::vector<std::string> stepsLostBy(ProcessGroup& group, const AbortRound& round,
                                     const AbortRoundSignals& signals) {
  const bool aborts = group.rank() == round.aborter;
  const double sum = group.size() * (group.size() + 1) / 2.0;
  std::vector<at::Tensor> tensors;
  std::vector<ProcessGroup::WorkPtr> works;
  const bool oneMore = round.oneMore && !aborts;
  const int calls = round.steps + (oneMore ? 1 : 0);
  for (int call = 0; call < calls; ++call) {
    tensors.push_back(at::full({round.elements}, group.rank() + 1.0, at::kFloat));
    works.push_back(group.allreduce({tensors.back()}));
    if (!aborts && round.callback.count() > 0) {
      works.back()->future().whenComplete(
          [&](const auto&) { std::this_thread::sleep_for(round.callback); });
    }
  }
  if (round.order == AbortRound::Order::kAtOnce) {
    signals.allHaveCalled();
  }
  const auto abort = [&] {
    group.abort("enough");
    signals.tellAborted();
  };
  if (aborts && round.order == AbortRound::Order::kAtOnce) {
    abort();
  } else if (round.order == AbortRound::Order::kOthersComeLate && !aborts) {
    signals.awaitAborted();
  }
  std::vector<std::string> lost;
  for (int step = 0; step < round.steps; ++step) {
    const auto index = static_cast<std::size_t>(step);
    try {
      works[index]->wait();
      if (!at::equal(tensors[index], at::full_like(tensors[index], sum))) {
        lost.push_back(fmt::format("step {} is wrong", step));
      }
    } catch (const CommError& error) {
      lost.push_back(fmt::format("step {}: {}", step, error.what()));
    }
  }
  if (aborts && round.order != AbortRound::Order::kAtOnce) {
    abort();
  }
  if (oneMore) {
    try {
      works.back()->wait();
      lost.emplace_back("one more than a rank has put in");
    } catch (const CommError&) {
    }
  }
  return lost;
}

void expectNoStepLost(int ranks, const MakePart& make, const AbortRound& round) {
  const auto store = std::make_shared<store::HashStore>();
  std::latch called(ranks);
  std::latch aborted(1);
  const AbortRoundSignals signals{[&] { called.arrive_and_wait(); }, [&] { aborted.count_down(); },
                                  [&] { aborted.wait(); }};
  support::runRanks(ranks, [&](int rank) {
    auto made = make(store, rank);
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(stepsLostBy(*made.value(), round, signals), std::vector<std::string>())
        << "rank " << rank << ": " << round.text();
  });
}

void expectNoStepLost(int ranks, const MakePart& make) {
  constexpr int kRounds = 200;
  for (int number = 0; number < kRounds && !testing::Test::HasFailure(); ++number) {
    const AbortRound round = AbortRound::of(number, ranks);
    SCOPED_TRACE(fmt::format("round {}: {}", number, round.text()));
    expectNoStepLost(ranks, make, round);
  }
}

}  // namespace lockstep::process_group
