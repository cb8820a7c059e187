// The backend over CUDA and NCCL: ranks as processes that share one GPU, if that is all there is.
// Skipped where there is no GPU.

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <torch/cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "engine/base/Clock.h"
#include "engine/store/FileStore.h"
#include "engine/trace/Event.h"
#include "tests/engine/process_group/GroupThreads.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/ChildRole.h"
#include "tests/support/RankRecording.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::process_group {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// What a rank checks; it prints what is wrong.
struct Rank {
  ProcessGroup& group;
  c10::Device device;
  bool well = true;

  void expect(bool holds, const std::string& what) {
    if (!holds) {
      well = false;
      fmt::print("rank {}: {}\n", group.rank(), what);
    }
  }
  [[nodiscard]] at::Tensor full(std::int64_t elements, double value,
                                at::ScalarType type = at::kFloat) const {
    return at::full({elements}, value, at::TensorOptions(type).device(device));
  }
  void expectAll(const at::Tensor& tensor, double value, const std::string& what) {
    expect(tensor.to(at::kCPU, at::kDouble).eq(value).all().item<bool>(), what);
  }
};

// What NCCL adds up is what a backend of the CPU adds up, to within a few bits.
void compareWithTheCpu(Rank& rank, ProcessGroup& cpu) {
  at::manual_seed(rank.group.rank());
  const at::Tensor mine = at::randn({100'003});
  at::Tensor onGpu = mine.to(rank.device);
  at::Tensor onCpu = mine.clone();
  rank.group.allreduce({onGpu})->wait();
  cpu.allreduce({onCpu})->wait();
  const double off = (onGpu.cpu() - onCpu).abs().max().item<double>();
  rank.expect(off <= 1e-6, fmt::format("an allreduce is off by {}", off));
}

void checkCollectives(Rank& rank) {
  ProcessGroup& group = rank.group;
  const int size = group.size();
  const double sum = size * (size + 1) / 2.0;
  for (const auto type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kInt, at::kLong}) {
    at::Tensor tensor = rank.full(10'007, group.rank() + 1, type);
    group.allreduce({tensor})->wait();
    rank.expectAll(tensor, sum, fmt::format("allreduce of {}", c10::toString(type)));
  }
  at::Tensor mean = rank.full(100, group.rank() + 1);
  group.allreduce({mean}, ReduceOp::kAverage)->wait();
  rank.expectAll(mean, sum / size, "average");
  std::vector<at::Tensor> several = {rank.full(10, 1), rank.full(1'000'003, 2), rank.full(0, 0)};
  group.allreduce(several)->wait();
  rank.expectAll(several[0], size, "first of several tensors");
  rank.expectAll(several[1], 2.0 * size, "second of several tensors");
  for (int root = 0; root < size; ++root) {
    at::Tensor tensor = rank.full(1000, group.rank());
    group.broadcast({tensor}, root)->wait();
    rank.expectAll(tensor, root, "broadcast");
    tensor = rank.full(9, group.rank() + 1);
    group.reduce(tensor, root)->wait();
    rank.expectAll(tensor, group.rank() == root ? sum : group.rank() + 1, "reduce");
  }
  const at::Tensor whole = rank.full(size * 5, -1).view({size, 5});
  group.allgather(whole.unbind(0), rank.full(5, group.rank()))->wait();
  for (int other = 0; other < size; ++other) {
    rank.expectAll(whole[other], other, "allgather");
  }
  // Each rank asks NCCL for the same, wherever the parts lie there.
  std::vector<at::Tensor> rows = whole.unbind(0);
  if (group.rank() == 0) {
    std::reverse(rows.begin(), rows.end());
  }
  group.allgather(rows, rank.full(5, group.rank() + 1))->wait();
  for (int other = 0; other < size; ++other) {
    rank.expectAll(rows[static_cast<std::size_t>(other)], other + 1, "allgather of parts apart");
  }
  at::Tensor part = rank.full(4, 0);
  std::vector<at::Tensor> parts;
  for (int other = 0; other < size; ++other) {
    parts.push_back(rank.full(4, other + 1));
  }
  group.reduceScatter(part, parts)->wait();
  rank.expectAll(part, (group.rank() + 1.0) * size, "reduce_scatter");
  at::Tensor all =
      at::arange(size, at::TensorOptions(at::kFloat).device(rank.device)) + group.rank() * 100;
  group.alltoall(all, all)->wait();
  rank.expect(at::equal(all.cpu(), at::arange(size, at::kFloat) * 100 + group.rank()), "alltoall");
  const int peer = group.rank() ^ 1;
  if (peer < size) {
    at::Tensor got = rank.full(6, 0);
    const auto sent = group.send(rank.full(6, group.rank()), peer);
    group.recv(got, peer)->wait();
    sent->wait();
    rank.expectAll(got, peer, "send and recv");
  }
  at::Tensor column = rank.full(24, 1).view({4, 6}).select(1, 2);
  group.allreduce({column})->wait();
  rank.expectAll(column, size, "a tensor with gaps");
  group.barrier()->wait();
}

// wait() must not block the host, and must order the stream that is current.
void checkOrder(Rank& rank) {
  at::Tensor big = rank.full(64 << 20, 1);
  rank.group.barrier()->wait();
  for (int i = 0; i < 20; ++i) {
    rank.group.allreduce({big}, ReduceOp::kAverage)->wait();
    big.mul_(2);
  }
  rank.expectAll(big.narrow(0, 12'345'678, 10), 1 << 20, "twenty allreduces, each before its use");
}

void checkTimes(Rank& rank, support::RankRecording& recorded, std::uint64_t before) {
  const std::uint64_t after = base::ticks();
  const auto spans = recorded.eventsOf(trace::EventKind::kCollective);
  rank.expect(spans.size() >= 20, "a span each collective");
  std::uint64_t last = before;
  constexpr std::uint64_t kSlack = 3'000'000;  // a millisecond
  for (const trace::Event& span : spans) {
    rank.expect(span.startTicks + kSlack >= last, "spans of one stream follow each other");
    rank.expect(span.startTicks + span.durationTicks <= after + kSlack, "a span ended before now");
    last = span.startTicks + span.durationTicks;
  }
}

// The other rank does not come.
void checkTimeOut(Rank& rank, store::Store& store) {
  rank.group.barrier()->wait();
  if (rank.group.rank() == 0) {
    CallOptions options;
    options.timeout = milliseconds(1500);
    const auto work = rank.group.allreduce({rank.full(10, 1)}, ReduceOp::kSum, options);
    work->wait();
    const std::string text = textOf<CommError>([&] { work->wait(seconds(60)); });
    rank.expect(text.find("timed out after 1500 ms") != std::string::npos, "a time-out: " + text);
    const auto begun = std::chrono::steady_clock::now();
    rank.full(1, 0).cpu();  // the device must have been freed by the abort
    rank.expect(std::chrono::steady_clock::now() - begun < seconds(10), "the device is free");
    store.set("rank 0 has seen it", "1");
  } else {
    store.wait({"rank 0 has seen it"}, seconds(80));
  }
}

// Arguments: store file, scenario.
int runRank(const std::vector<std::string>& arguments) {
  const auto number = [](const char* name) { return std::atoi(std::getenv(name)); };
  const auto devices = static_cast<int>(torch::cuda::device_count());
  const c10::Device device(c10::DeviceType::CUDA,
                           static_cast<c10::DeviceIndex>(number("RANK") % devices));
  c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
  store::FileStoreOptions file;
  file.path = arguments.at(0);
  file.worldSize = number("WORLD_SIZE");
  support::RankRecording recorded;
  GroupOptions options = quickOptions(seconds(60));
  options.tracer = &recorded.tracer();
  const std::uint64_t before = base::ticks();
  const auto store = std::make_shared<store::FileStore>(file);
  auto made = makeProcessGroup("nccl", store, number("RANK"), file.worldSize, options);
  if (!made.ok()) {
    fmt::print("{}\n", made.error().message());
    return 3;
  }
  Rank rank{*made.value(), device};
  const std::string& scenario = arguments.at(1);
  if (scenario == "collectives") {
    checkCollectives(rank);
    GroupOptions beside = quickOptions(seconds(60));
    beside.groupName = "cpu";
    auto cpu = makeProcessGroup("shared_memory", store, number("RANK"), file.worldSize, beside);
    rank.expect(cpu.ok(), "a group of the CPU");
    compareWithTheCpu(rank, *cpu.value());
  } else if (scenario == "order") {
    checkOrder(rank);
    rank.group.barrier()->wait();  // what came before it has been recorded
    checkTimes(rank, recorded, before);
  } else {
    checkTimeOut(rank, *store);
  }
  std::fflush(stdout);
  return rank.well ? 0 : 1;
}
const support::RegisterChildRole running("rank-on-a-gpu", runRank);

class NcclOnGpu : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (torch::cuda::device_count() == 0) {
      GTEST_SKIP() << "no GPU here";
    }
  }
  // A hang, as of ranks that share a GPU where NCCL cannot have it, is ended by the limit.
  static void run(int ranks, const std::string& scenario) {
    const support::TemporaryFolder folder;
    std::vector<support::ChildProcess> children;
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<std::pair<std::string, std::string>> environment{
          {"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(ranks)},
          {"LOCAL_RANK", std::to_string(rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(ranks)}};
      children.push_back(support::ChildProcess::self(
          "rank-on-a-gpu", {(folder.path() / "store").string(), scenario}, environment));
    }
    for (support::ChildProcess& child : children) {
      EXPECT_EQ(child.wait(seconds(90)), (support::ExitStatus{false, 0, 0}))
          << child.output() << child.errors();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Ranks, NcclOnGpu, testing::Values(1, 2));

TEST_P(NcclOnGpu, EveryCollectiveIsRight) {
  run(GetParam(), "collectives");
}
TEST_P(NcclOnGpu, StreamsAreOrderedAndSpansHaveTheDevicesTimes) {
  run(GetParam(), "order");
}
TEST_P(NcclOnGpu, ATimeOutFreesTheDevice) {
  if (GetParam() < 2) {
    GTEST_SKIP() << "one rank waits for nobody";
  }
  run(GetParam(), "time-out");
}

}  // namespace
}  // namespace lockstep::process_group
