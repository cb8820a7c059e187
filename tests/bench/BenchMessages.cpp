// Times what small messages cost between two rank processes of one host.
//
//   bench_messages
//
// allreduce of 4 KB, plain and with every call checked, in turns, so that what else the machine
// does falls on both alike; the last column is what the check adds to a call. Then send and recv
// of 8 bytes back and forth, half of a round trip. Medians and 95th percentiles of the slower
// rank, in ms.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/FileStore.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/ChildRole.h"
#include "tests/support/TemporaryFolder.h"

namespace {

using namespace lockstep;
using process_group::CheckMode;
using process_group::ProcessGroup;
using process_group::ReduceOp;

constexpr int kCalls = 1000;

template <typename Function>
double millisecondsOf(Function function) {
  const auto begin = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

struct Figures {
  double median = 0;
  double late = 0;
};

// Of the slower rank of each call.
Figures figuresOf(ProcessGroup& group, const std::vector<double>& mine) {
  at::Tensor times = at::tensor(mine, at::kDouble);
  group.allreduce({times}, ReduceOp::kMax)->wait();
  std::vector<double> all(times.data_ptr<double>(), times.data_ptr<double>() + mine.size());
  std::sort(all.begin(), all.end());
  return {all[all.size() / 2], all[all.size() * 95 / 100]};
}

std::shared_ptr<ProcessGroup> makeGroup(const std::shared_ptr<store::Store>& store, int rank,
                                        int size, CheckMode check) {
  process_group::GroupOptions options;
  options.groupName = std::string(process_group::name(check));
  options.check = check;
  auto made = process_group::makeProcessGroup("gloo", store, rank, size, options);
  if (!made.ok()) {
    fmt::print(stderr, "bench_messages: {}\n", made.error().message());
    std::exit(1);
  }
  return std::move(made).value();
}

int runRank(const std::vector<std::string>& arguments) {
  at::set_num_threads(1);
  const int rank = std::atoi(std::getenv("RANK"));
  store::FileStoreOptions file;
  file.path = arguments.at(0);
  file.worldSize = std::atoi(std::getenv("WORLD_SIZE"));
  const auto store = std::make_shared<store::FileStore>(file);
  const auto plain = makeGroup(store, rank, file.worldSize, CheckMode::kOff);
  const auto checked = makeGroup(store, rank, file.worldSize, CheckMode::kAlways);

  at::Tensor tensor = at::ones({1024});
  std::vector<double> off;
  std::vector<double> on;
  for (int call = 0; call < kCalls; ++call) {
    for (const auto& [group, times] :
         {std::pair{plain.get(), &off}, std::pair{checked.get(), &on}}) {
      plain->barrier()->wait();
      times->push_back(millisecondsOf(
          [&group = group, &tensor] { group->allreduce({tensor}, ReduceOp::kMax)->wait(); }));
    }
  }
  const Figures without = figuresOf(*plain, off);
  const Figures with = figuresOf(*plain, on);

  at::Tensor message = at::ones({2});
  std::vector<double> trips;
  const int peer = 1 - rank;
  for (int call = 0; call < kCalls; ++call) {
    trips.push_back(0.5 * millisecondsOf([&] {
                      if (rank == 0) {
                        plain->send(message, peer);
                        plain->recv(message, peer)->wait();
                      } else {
                        plain->recv(message, peer)->wait();
                        plain->send(message, peer);
                      }
                    }));
  }
  const Figures trip = figuresOf(*plain, trips);
  if (rank == 0) {
    const auto line = [](const char* what, const Figures& figures) {
      fmt::print("{:<28} median {:>7.3f} ms  p95 {:>7.3f} ms\n", what, figures.median,
                 figures.late);
    };
    line("allreduce 4 KB", without);
    line("allreduce 4 KB, checked", with);
    fmt::print("{:<28} median {:>7.3f} ms\n", "a check adds", with.median - without.median);
    line("send to recv, 8 bytes", trip);
    std::fflush(stdout);
  }
  plain->barrier()->wait();
  return 0;
}

const support::RegisterChildRole rankRole("bench-messages-rank", runRank);

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = support::runChildRole(argc, argv)) {
    return *code;
  }
  if (argc > 1) {
    fmt::print(stderr, "usage: bench_messages\n");
    return 2;
  }
  const support::TemporaryFolder folder;
  auto processes =
      support::spawnSelfAsRanks(2, "bench-messages-rank", {(folder / "store").string()});
  for (int line = 0; line < 4; ++line) {
    fmt::print("{}\n", processes[0].readLine(std::chrono::minutes(2)));
    std::fflush(stdout);
  }
  for (auto& process : processes) {
    if (process.wait() != support::ExitStatus{}) {
      fmt::print(stderr, "bench_messages: a rank failed: {}\n", process.errors());
      return 1;
    }
  }
  return 0;
}
