// When operations of the nccl backend run, beside what the caller's streams do.

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <latch>

#include "engine/trace/Event.h"
#include "tests/engine/process_group/nccl/NcclRanks.h"
#include "tests/support/RankRecording.h"

namespace lockstep::process_group::nccl {
namespace {

using std::chrono::seconds;

// On stream `of` of the double, once everything before it is done.
std::future<at::Tensor> cloneOnStream(Device& device, const c10::Stream& of,
                                      const at::Tensor& tensor) {
  auto promise = std::make_shared<std::promise<at::Tensor>>();
  device.onStream(of, [promise, tensor] { promise->set_value(tensor.clone()); });
  return promise->get_future();
}

TEST(NcclOrder, WaitOrdersTheCurrentStreamAndDoesNotBlockTheCaller) {
  NcclRanks ranks(2);
  ranks.fabric.hold([](const auto&) { return true; });
  std::latch queued(2);
  ranks.run([&](ProcessGroup& group) {
    Device& device = ranks.of(group.rank()).device();
    const OnOwnStream own(device);
    at::Tensor tensor = filled(100, 1);
    const auto work = group.allreduce({tensor});
    work->wait();  // comes back while the operation is held
    auto after = cloneOnStream(device, own.stream(), tensor);
    EXPECT_FALSE(work->isCompleted());
    queued.arrive_and_wait();
    ranks.fabric.release();
    ASSERT_EQ(after.wait_for(seconds(10)), std::future_status::ready);
    EXPECT_TRUE(at::equal(after.get(), filled(100, 2)));
  });
}

TEST(NcclOrder, AnOperationComesBehindWhatTheCallersStreamHolds) {
  NcclRanks ranks(2);
  ranks.run([&](ProcessGroup& group) {
    Device& device = ranks.of(group.rank()).device();
    const OnOwnStream own(device);
    at::Tensor tensor = filled(100, 0);
    std::promise<void> go;
    device.onStream(own.stream(), [tensor, gone = go.get_future().share()]() mutable {
      gone.wait();
      tensor.fill_(3);
    });
    const auto work = group.allreduce({tensor});
    EXPECT_FALSE(work->isCompleted());
    go.set_value();
    work->wait(seconds(10));
    EXPECT_TRUE(at::equal(tensor, filled(100, 6)));
  });
}

TEST(NcclOrder, AWaitWithALimitAndABarrierBlockTheCaller) {
  NcclRanks ranks(2);
  std::atomic<int> arrived{0};
  ranks.run([&](ProcessGroup& group) {
    Device& device = ranks.of(group.rank()).device();
    const OnOwnStream own(device);
    at::Tensor tensor = filled(100, 1);
    const auto work = group.allreduce({tensor});
    work->wait(seconds(10));
    EXPECT_TRUE(work->isCompleted());
    EXPECT_TRUE(at::equal(tensor, filled(100, 2)));
    ++arrived;
    group.barrier()->wait();
    EXPECT_EQ(arrived.load(), 2);
  });
}

TEST(NcclOrder, FuturesCompleteWhenTheDeviceIsDone) {
  NcclRanks ranks(2);
  ranks.fabric.hold([](const auto&) { return true; });
  std::latch queued(2);
  ranks.run([&](ProcessGroup& group) {
    const OnOwnStream own(ranks.of(group.rank()).device());
    at::Tensor tensor = filled(100, 1);
    const auto doubled = group.allreduce({tensor})->future().then(
        [](const std::vector<at::Tensor>& tensors) { return tensors.front() * 2; });
    EXPECT_FALSE(doubled.completed());
    queued.arrive_and_wait();
    ranks.fabric.release();
    ASSERT_TRUE(doubled.waitFor(seconds(10)));
    EXPECT_TRUE(at::equal(doubled.value(), filled(100, 4)));
  });
}

TEST(NcclOrder, OperationsEndInTheOrderInWhichTheDeviceDoesThem) {
  NcclRanks ranks(3);
  // The message between two ranks stands; what all three do passes it.
  ranks.fabric.hold([](const FakeFabric::Moment& moment) { return moment.size == 2; });
  std::latch looked(3);
  ranks.run([&](ProcessGroup& group) {
    const OnOwnStream own(ranks.of(group.rank()).device());
    ProcessGroup::WorkPtr direct;
    at::Tensor message = filled(4, group.rank());
    if (group.rank() == 0) {
      direct = group.send(message, 1);
    } else if (group.rank() == 1) {
      direct = group.recv(message, 0);
    }
    at::Tensor tensor = filled(10, 1);
    group.allreduce({tensor})->wait(seconds(10));
    EXPECT_TRUE(at::equal(tensor, filled(10, 3)));
    EXPECT_TRUE(direct == nullptr || !direct->isCompleted());
    looked.arrive_and_wait();
    ranks.fabric.release();
    if (direct != nullptr) {
      direct->wait(seconds(10));
      EXPECT_TRUE(at::equal(message, filled(4, 0)));
    }
  });
}

TEST(NcclOrder, ManyOperationsOfManyThreadsAreNumberedAsTheyAreQueued) {
  NcclRanks ranks(2);
  ranks.run([&](ProcessGroup& group) {
    const OnOwnStream own(ranks.of(group.rank()).device());
    std::vector<at::Tensor> tensors;
    std::vector<ProcessGroup::WorkPtr> works;
    for (int i = 0; i < 200; ++i) {
      tensors.push_back(filled(50, i));
      works.push_back(group.allreduce({tensors.back()}));
      EXPECT_EQ(works.back()->sequence(), static_cast<std::uint64_t>(i + 1));
    }
    for (int i = 0; i < 200; ++i) {
      works[static_cast<std::size_t>(i)]->wait(seconds(20));
      EXPECT_TRUE(at::equal(tensors[static_cast<std::size_t>(i)], filled(50, 2.0 * i)));
    }
  });
}

TEST(NcclTimes, SpansSayWhenTheDeviceBeganAndEndedInTheHostsTicks) {
  FakeDeviceOptions device;
  device.clockOffsetNs = 123'456'789'012;  // a clock of its own
  NcclRanks ranks(2, device);
  support::RankRecording recorded;
  std::atomic<std::uint64_t> called{0};
  std::atomic<std::uint64_t> released{0};
  ranks.fabric.hold([](const auto&) { return true; });
  ranks.run(
      [&](ProcessGroup& group) {
        const OnOwnStream own(ranks.of(group.rank()).device());
        CallOptions options;
        options.bucket = 5;
        options.step = 17;
        if (group.rank() == 0) {
          called = base::ticks();
        }
        const auto work = group.allreduce({filled(100, 1)}, ReduceOp::kSum, options);
        if (group.rank() == 0) {
          ASSERT_TRUE(ranks.fabric.awaitHeld(2));
          released = base::ticks();
          ranks.fabric.release();
        }
        work->wait(seconds(10));
      },
      quickOptions(), &recorded.tracer());
  const std::uint64_t after = base::ticks();
  auto lanes = recorded.lanes();
  ASSERT_EQ(lanes["nccl queue"].size(), 1u);
  ASSERT_EQ(lanes["nccl"].size(), 1u);
  const trace::Event span = lanes["nccl"][0];
  EXPECT_EQ(span.kind, static_cast<std::uint16_t>(trace::EventKind::kCollective));
  EXPECT_EQ(span.value, trace::packCollective(1, 400));
  EXPECT_EQ(span.bucket, 5);
  EXPECT_EQ(span.step, 17u);
  // The clocks are related to within the time that a thread of the double takes to wake: here
  // some ten milliseconds at most.
  constexpr std::uint64_t slack = 40'000'000;
  EXPECT_GE(span.startTicks + slack, called.load());
  EXPECT_LE(span.startTicks, released + slack);
  EXPECT_GE(span.startTicks + span.durationTicks + slack, released.load());
  EXPECT_LE(span.startTicks + span.durationTicks, after + slack);
}

}  // namespace
}  // namespace lockstep::process_group::nccl
