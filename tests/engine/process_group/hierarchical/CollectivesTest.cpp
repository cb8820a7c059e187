// The operations of a hierarchical group against those of a flat one, over made-up hosts.

#include <gmock/gmock.h>

#include <atomic>
#include <latch>
#include <map>
#include <mutex>
#include <random>

#include "tests/engine/process_group/hierarchical/HostThreads.h"

namespace lockstep::process_group {
namespace {

using Tensors = std::vector<at::Tensor>;

/// One call with inputs drawn from `seed`; returns its work and what it fills.
struct Started {
  ProcessGroup::WorkPtr work;
  Tensors results;
  ProcessGroup::WorkPtr other;
};
struct Draw {
  int what = 0;
  at::ScalarType dtype = at::kFloat;
  ReduceOp op = ReduceOp::kSum;
  std::int64_t elements = 0;
  int root = 0;
  unsigned seed = 0;
};
constexpr int kKinds = 10;

// Small whole numbers: sums are exact in every order.
at::Tensor numbers(const ProcessGroup& group, const Draw& draw, std::int64_t elements, int salt) {
  at::Generator generator =
      at::detail::createCPUGenerator(draw.seed * 1000 + group.rank() * 20 + salt);
  return at::randint(1, 4, {elements}, generator).to(draw.dtype);
}

Started start(ProcessGroup& group, const Draw& draw) {
  const int size = group.size();
  const bool atRoot = group.rank() == draw.root;
  const at::Tensor own = numbers(group, draw, draw.elements, 0);
  const auto empty = [&] {
    Tensors tensors(static_cast<std::size_t>(size));
    for (at::Tensor& tensor : tensors) {
      tensor = at::zeros({draw.elements}, draw.dtype);
    }
    return tensors;
  };
  const auto filled = [&] {
    Tensors tensors;
    for (int rank = 0; rank < size; ++rank) {
      tensors.push_back(numbers(group, draw, draw.elements, rank));
    }
    return tensors;
  };
  switch (draw.what) {
    case 0:
      return {group.broadcast({own}, draw.root), {own}, nullptr};
    case 1:
      return {group.reduce(own, draw.root, draw.op), {own}, nullptr};
    case 2: {
      Tensors outputs = empty();
      return {group.allgather(outputs, own), outputs, nullptr};
    }
    case 3: {
      Tensors outputs = atRoot ? empty() : Tensors{};
      return {group.gather(outputs, own, draw.root), outputs, nullptr};
    }
    case 4:
      return {group.scatter(own, atRoot ? filled() : Tensors{}, draw.root), {own}, nullptr};
    case 5:
      return {group.reduceScatter(own, filled(), draw.op), {own}, nullptr};
    case 6: {
      const std::int64_t rows = draw.elements / size * size;
      const at::Tensor output = at::zeros({rows}, draw.dtype);
      return {group.alltoall(output, numbers(group, draw, rows, 0)), {output}, nullptr};
    }
    case 7:
      return {group.barrier(), {}, nullptr};
    case 8:
      if (size > 1) {
        const at::Tensor from = at::zeros({draw.elements}, draw.dtype);
        const auto received = group.recv(from, (group.rank() + size - 1) % size);
        return {group.send(own, (group.rank() + 1) % size), {from}, received};
      }
      return {group.barrier(), {}, nullptr};
    default: {
      const at::Tensor strided =
          numbers(group, draw, draw.elements / 2 * 2, 1).view({2, draw.elements / 2}).t();
      return {group.allreduce({own, strided}, draw.op), {own, strided}, nullptr};
    }
  }
}

class OverHosts : public testing::TestWithParam<std::vector<int>> {};
INSTANTIATE_TEST_SUITE_P(Hosts, OverHosts,
                         testing::Values(std::vector{0}, std::vector{0, 1}, std::vector{0, 0, 0},
                                         std::vector{0, 0, 1, 1}, std::vector{0, 1, 0, 1},
                                         std::vector{0, 1, 1}, std::vector{0, 0, 1, 1, 1},
                                         std::vector{1, 0, 0, 1, 2, 2},
                                         std::vector{0, 0, 0, 1, 1, 2, 2, 2, 3}),
                         [](const auto& info) { return hostsName(info.param); });

TEST_P(OverHosts, GiveTheResultsOfGloo) {
  const std::vector<int>& hosts = GetParam();
  const int size = static_cast<int>(hosts.size());
  std::mt19937 random(static_cast<unsigned>(20'260 + size));
  const std::vector<at::ScalarType> dtypes = {at::kFloat, at::kDouble, at::kHalf, at::kInt,
                                              at::kLong};
  const std::vector<ReduceOp> ops = {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin};
  std::vector<Draw> draws;
  for (int i = 0; i < 8 * kKinds; ++i) {
    Draw draw;
    draw.what = static_cast<int>(random() % kKinds);
    draw.dtype = dtypes[random() % dtypes.size()];
    draw.op = ops[random() % ops.size()];
    const std::int64_t most = i % 8 == 0 ? 400'000 : 300;
    draw.elements = random() % 9 == 0 ? 0 : static_cast<std::int64_t>(random() % most);
    draw.root = static_cast<int>(random() % static_cast<unsigned>(size));
    draw.seed = static_cast<unsigned>(i + 1);
    draws.push_back(draw);
  }
  const auto collect = [&](const std::string& backend) {
    std::vector<std::vector<Tensors>> results(hosts.size());  // by rank, by draw
    runOnHosts(
        hosts,
        [&](ProcessGroup& group) {
          constexpr std::size_t kTogether = 5;  // in flight
          for (std::size_t begin = 0; begin < draws.size(); begin += kTogether) {
            std::vector<Started> flights;
            for (std::size_t i = begin; i < std::min(begin + kTogether, draws.size()); ++i) {
              flights.push_back(start(group, draws[i]));
            }
            for (Started& flight : flights) {
              flight.work->wait();
              if (flight.other != nullptr) {
                flight.other->wait();
              }
              results[static_cast<std::size_t>(group.rank())].push_back(flight.results);
            }
          }
        },
        quickOptions(std::chrono::seconds(60)), backend);
    return results;
  };
  const auto ours = collect("hierarchical");
  const auto expected = collect("gloo");
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    for (std::size_t i = 0; i < draws.size(); ++i) {
      for (std::size_t t = 0; t < expected[rank][i].size(); ++t) {
        ASSERT_TRUE(at::equal(ours[rank][i][t], expected[rank][i][t]))
            << "rank " << rank << ", draw " << i << ": operation " << draws[i].what << " of "
            << draws[i].elements << " " << draws[i].dtype << ", " << name(draws[i].op) << ", root "
            << draws[i].root;
      }
    }
  }
}

TEST_P(OverHosts, GiveAllRanksTheSameBitsEveryTimeInTheOrderOfTheHosts) {
  const std::vector<int>& hosts = GetParam();
  at::manual_seed(7);
  Tensors inputs;
  std::map<int, at::Tensor> ofHost;
  std::vector<int> order;
  for (const int host : hosts) {
    inputs.push_back(at::randn({10'007}));
    const auto [found, first] = ofHost.try_emplace(host, inputs.back().clone());
    if (first) {
      order.push_back(host);
    } else {
      found->second += inputs.back();
    }
  }
  at::Tensor expected = ofHost[order[0]].clone();
  for (std::size_t i = 1; i < order.size(); ++i) {
    expected += ofHost[order[i]];
  }
  runOnHosts(hosts, [&](ProcessGroup& group) {
    for (int round = 0; round < 2; ++round) {
      at::Tensor tensor = inputs[static_cast<std::size_t>(group.rank())].clone();
      group.allreduce({tensor})->wait();
      EXPECT_TRUE(at::equal(tensor, expected));
      // In memory of the group, and of an even number of elements.
      at::Tensor shared = group.allocate(40'000).view(at::kFloat);
      shared.copy_(inputs[static_cast<std::size_t>(group.rank())].narrow(0, 0, 10'000));
      group.allreduce({shared})->wait();
      EXPECT_TRUE(at::equal(shared, expected.narrow(0, 0, 10'000)));
    }
  });
}

TEST_P(OverHosts, AverageOverAllRanks) {
  const std::vector<int>& hosts = GetParam();
  const auto size = static_cast<double>(hosts.size());
  runOnHosts(hosts, [&](ProcessGroup& group) {
    const at::Tensor expected = filled(101, (size - 1) / 2 + 1);
    at::Tensor tensor = filled(101, group.rank() + 1);
    group.allreduce({tensor}, ReduceOp::kAverage)->wait();
    EXPECT_TRUE(at::allclose(tensor, expected, 1e-6));
    // A sum of halves would be beyond their range.
    at::Tensor half = at::full({64}, 60'000, at::kHalf);
    group.allreduce({half}, ReduceOp::kAverage)->wait();
    EXPECT_TRUE(at::allclose(half.to(at::kFloat), filled(64, 60'000), 2e-3));
    const int root = group.size() - 1;
    at::Tensor rooted = filled(101, group.rank() + 1);
    group.reduce(rooted, root, ReduceOp::kAverage)->wait();
    EXPECT_TRUE(group.rank() == root ? at::allclose(rooted, expected, 1e-6)
                                     : at::equal(rooted, filled(101, group.rank() + 1)));
    at::Tensor piece = at::empty({101});
    const Tensors pieces(static_cast<std::size_t>(group.size()), filled(101, group.rank() + 1));
    group.reduceScatter(piece, pieces, ReduceOp::kAverage)->wait();
    EXPECT_TRUE(at::allclose(piece, expected, 1e-6));
    EXPECT_TRUE(at::equal(pieces[0], filled(101, group.rank() + 1)));
  });
}

TEST(Hierarchical, SaysWhatItIsMadeOf) {
  runOnHosts({0, 0, 1}, [](ProcessGroup& group) {
    EXPECT_EQ(group.backendName(), "hierarchical(2 x shared_memory, gloo)");
  });
}

TEST(Hierarchical, BarrierWaitsForEarlierOperationsAndForAllRanks) {
  std::atomic<int> come{0};
  runOnHosts({0, 0, 1}, [&](ProcessGroup& group) {
    at::Tensor tensor = filled(100'000, 1);
    const auto before = group.allreduce({tensor});
    ++come;
    group.barrier()->wait();
    EXPECT_TRUE(before->isCompleted());
    EXPECT_EQ(come.load(), 3);
  });
}

TEST(Hierarchical, CallbacksMayWaitForLaterOperations) {
  runOnHosts({0, 0, 1, 1}, [](ProcessGroup& group) {
    at::Tensor first = filled(10, 1);
    at::Tensor second = filled(10, 2);
    base::Future<bool> done;
    group.allreduce({first})->future().whenComplete([&](const auto&) {
      group.allreduce({second})->wait();
      done.setValue(true);
    });
    ASSERT_TRUE(done.waitFor(std::chrono::seconds(20)));
    EXPECT_TRUE(at::equal(second, filled(10, 8)));
  });
}

// Rank 1 has three operations under way and learns of the end of two; whoever sees the second end
// waits until the third has ended at rank 0, which needs rank 1's part in it.
TEST(Hierarchical, CallbacksOfWhatHasEndedDoNotHoldUpLaterOperations) {
  constexpr std::chrono::seconds kLimit(20);
  std::latch listening(2);
  std::latch secondEnded(1);
  base::Future<bool> thirdEnded;
  runOnHosts({0, 1}, [&](ProcessGroup& group) {
    std::vector<at::Tensor> tensors{filled(10, 1), filled(10, 2), filled(10, 3)};
    if (group.rank() == 0) {
      listening.arrive_and_wait();
      group.allreduce({tensors[0]});
      group.allreduce({tensors[1]})->wait();
      secondEnded.count_down();
      group.allreduce({tensors[2]})->wait();
      thirdEnded.setValue(true);
      return;
    }
    std::latch called(1);
    ProcessGroup::WorkPtr first = group.allreduce({tensors[0]});
    first->future().whenComplete([&](const auto&) { called.wait(); });
    ProcessGroup::WorkPtr second = group.allreduce({tensors[1]});
    second->future().whenComplete(
        [&](const auto&) { EXPECT_TRUE(thirdEnded.waitFor(kLimit)) << "the third was held up"; });
    listening.arrive_and_wait();
    secondEnded.wait();
    ProcessGroup::WorkPtr third = group.allreduce({tensors[2]});
    called.count_down();
    third->wait();
    EXPECT_TRUE(at::equal(tensors[2], filled(10, 6)));
    second->wait();
  });
}

TEST(Automatic, TakesSharedMemoryOnOneHostAndAHierarchyOnSeveral) {
  const auto named = [](const std::vector<int>& hosts) {
    std::mutex mutex;
    std::string name;
    runOnHosts(
        hosts,
        [&](ProcessGroup& group) {
          at::Tensor tensor = filled(5, group.rank());
          group.allreduce({tensor}, ReduceOp::kMax)->wait();
          EXPECT_TRUE(at::equal(tensor, filled(5, group.size() - 1)));
          std::lock_guard lock(mutex);
          name = group.backendName();
        },
        quickOptions(), "auto");
    return name;
  };
  EXPECT_EQ(named({0, 0}), "shared_memory");
  EXPECT_EQ(named({0, 1}), "gloo");
  EXPECT_EQ(named({0, 1, 1}), "hierarchical(2 x shared_memory, gloo)");
}

}  // namespace
}  // namespace lockstep::process_group
