// Times an allreduce of float sums between rank processes of one host.
//
//   bench_allreduce [RANKS]
//
// A line a size: the median over the calls of the slowest rank's time, and the bandwidths as
// nccl-tests define them: algbw = bytes / time, busbw = algbw * 2(n - 1)/n.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/FileStore.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/ChildRole.h"
#include "tests/support/TemporaryFolder.h"

namespace {

using namespace lockstep;
using process_group::ProcessGroup;
using process_group::ReduceOp;

constexpr std::int64_t kSizes[] = {4 << 10,  16 << 10, 64 << 10, 256 << 10, 1 << 20,
                                   4 << 20,  16 << 20, 25 << 20, 100 << 20};

// Returns the slowest rank's time of each call, in ms.
std::vector<double> timesOf(ProcessGroup& group, std::int64_t bytes) {
  const auto calls = static_cast<int>(std::clamp<std::int64_t>((400 << 20) / bytes, 15, 300));
  constexpr int kWarmUp = 3;
  at::Tensor tensor = group.allocate(bytes).view(at::kFloat).fill_(1);
  at::Tensor times = at::empty({calls}, at::kDouble);
  for (int call = -kWarmUp; call < calls; ++call) {
    group.barrier()->wait();
    const auto begin = std::chrono::steady_clock::now();
    group.allreduce({tensor})->wait();
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - begin;
    if (call >= 0) {
      times[call] = took.count();
    }
    tensor.fill_(1);
  }
  group.allreduce({times}, ReduceOp::kMax)->wait();
  const double* data = times.data_ptr<double>();
  return {data, data + calls};
}

int runRank(const std::vector<std::string>& arguments) {
  at::set_num_threads(1);
  store::FileStoreOptions file;
  file.path = arguments.at(0);
  file.worldSize = std::atoi(std::getenv("WORLD_SIZE"));
  auto made = process_group::makeProcessGroup("gloo", std::make_shared<store::FileStore>(file),
                                              std::atoi(std::getenv("RANK")), file.worldSize);
  if (!made.ok()) {
    fmt::print(stderr, "bench_allreduce: {}\n", made.error().message());
    return 1;
  }
  ProcessGroup& group = *made.value();
  const double n = group.size();
  for (const std::int64_t bytes : kSizes) {
    std::vector<double> times = timesOf(group, bytes);
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    const double ms = times[times.size() / 2];
    const double algorithm = static_cast<double>(bytes) / ms / 1e6;
    if (group.rank() == 0) {
      fmt::print("{:>10} B {:>9.3f} ms  algbw {:>6.2f} GB/s  busbw {:>6.2f} GB/s\n", bytes, ms,
                 algorithm, algorithm * 2 * (n - 1) / n);
      std::fflush(stdout);
    }
  }
  group.barrier()->wait();
  return 0;
}

const support::RegisterChildRole rankRole("bench-allreduce-rank", runRank);

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = support::runChildRole(argc, argv)) {
    return *code;
  }
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  if (argc > 2 || ranks < 2 || ranks > 64) {
    fmt::print(stderr, "usage: bench_allreduce [RANKS]   (2 to 64 ranks, 2 if not given)\n");
    return 2;
  }
  const support::TemporaryFolder folder;
  auto processes = support::spawnSelfAsRanks(ranks, "bench-allreduce-rank",
                                             {(folder / "store").string()});
  for (std::size_t size = 0; size < std::size(kSizes); ++size) {
    fmt::print("{}\n", processes[0].readLine(std::chrono::minutes(2)));
    std::fflush(stdout);
  }
  for (auto& process : processes) {
    if (process.wait() != support::ExitStatus{}) {
      fmt::print(stderr, "bench_allreduce: a rank failed: {}\n", process.errors());
      return 1;
    }
  }
  return 0;
}
