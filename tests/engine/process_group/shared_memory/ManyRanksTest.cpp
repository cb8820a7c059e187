// As many ranks as a run may have, on one host.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/engine/process_group/GroupThreads.h"

namespace lockstep::process_group {
namespace {

constexpr int kRanks = 64;

/// The ranks are threads of this process, which then has a socket for each pair of them, twice.
bool mayOpenSockets() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= 2 * kRanks * kRanks;
}

void doEverything(ProcessGroup& group, std::int64_t elements, bool exposed) {
  const auto place = [&](std::int64_t count, double value) {
    at::Tensor tensor = exposed ? group.allocate(count * 4).view(at::kFloat) : at::empty({count});
    return tensor.fill_(value);
  };
  const auto everyone = [&] {
    std::vector<at::Tensor> tensors;
    for (int rank = 0; rank < kRanks; ++rank) {
      tensors.push_back(at::zeros({elements}));
    }
    return tensors;
  };
  const auto all = [](const at::Tensor& tensor, double value) {
    return tensor.eq(value).all().item<bool>();
  };
  const int rank = group.rank();
  constexpr double kSum = kRanks * (kRanks - 1) / 2.0;

  at::Tensor tensor = place(elements, rank);
  group.allreduce({tensor})->wait();
  EXPECT_TRUE(all(tensor, kSum));
  tensor.fill_(rank);
  group.broadcast({tensor}, kRanks - 1)->wait();
  EXPECT_TRUE(all(tensor, kRanks - 1));
  tensor.fill_(rank);
  group.reduce(tensor, 7, ReduceOp::kMax)->wait();
  EXPECT_TRUE(all(tensor, rank == 7 ? kRanks - 1 : rank));

  std::vector<at::Tensor> outputs = everyone();
  group.allgather(outputs, place(elements, rank))->wait();
  for (int from = 0; from < kRanks; ++from) {
    EXPECT_TRUE(all(outputs[static_cast<std::size_t>(from)], from));
  }
  at::Tensor output = place(elements, 0);
  group.reduceScatter(output, outputs)->wait();
  EXPECT_TRUE(all(output, kRanks * rank));
  group.scatter(output, rank == 5 ? outputs : std::vector<at::Tensor>{}, 5)->wait();
  EXPECT_TRUE(all(output, rank));
  std::vector<at::Tensor> gathered = rank == 9 ? everyone() : std::vector<at::Tensor>{};
  group.gather(gathered, output, 9)->wait();
  EXPECT_TRUE(gathered.empty() || all(gathered[40], 40));

  at::Tensor swapped = place(kRanks * elements, 0);
  group.alltoall(swapped, place(kRanks * elements, rank))->wait();
  EXPECT_TRUE(all(swapped.narrow(0, 63 * elements, elements), 63));
  const auto received = group.recv(tensor, (rank + kRanks - 1) % kRanks);
  group.send(output, (rank + 1) % kRanks)->wait();
  received->wait();
  EXPECT_TRUE(all(tensor, (rank + kRanks - 1) % kRanks));
  group.barrier()->wait();
}

TEST(ManyRanks, SixtyFourDoEveryCollectiveOfEverySize) {
  if (!mayOpenSockets()) {
    GTEST_SKIP() << "the limit of open files (ulimit -Hn) is below " << 2 * kRanks * kRanks;
  }
  runGroup(
      kRanks,
      [](ProcessGroup& group) {
        for (const std::int64_t elements : {1, 3'000, 40'000}) {
          for (const bool exposed : {false, true}) {
            doEverything(group, elements, exposed);
          }
        }
      },
      quickOptions(std::chrono::seconds(100)), "shared_memory");
}

}  // namespace
}  // namespace lockstep::process_group
