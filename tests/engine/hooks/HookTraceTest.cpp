#include "engine/hooks/HookTrace.h"

#include <gtest/gtest.h>

#include <future>

#include "engine/trace/DeviceTimed.h"
#include "engine/trace/Event.h"
#include "tests/engine/process_group/nccl/FakePlatform.h"
#include "tests/support/RankRecording.h"

namespace lockstep::hooks {
namespace {

namespace nccl = process_group::nccl;
using trace::EventKind;

constexpr std::uint64_t kSlack = 40'000'000;  // ticks that a thread of the double takes to wake
const c10::Device kCpu(c10::DeviceType::CPU);

class HookTraceTest : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<HookTrace> onDevice() {
    return HookTrace::create(&recorded_.tracer(), "hook",
                             std::make_shared<device::DeviceSpans>(platform_.device()));
  }
  /// Queues work that goes on until the future of `until` is set.
  void queueWork(const c10::Stream& stream, const std::shared_future<void>& until) {
    platform_.device().onStream(stream, [until] { until.wait(); });
  }
  void queueAndAwait(const c10::Stream& stream) {
    std::promise<void> done;
    platform_.device().onStream(stream, [&] { done.set_value(); });
    done.get_future().wait();
  }
  std::vector<trace::Event> written() { return recorded_.lanes()["hook"]; }

  static nccl::FakeDeviceOptions clockOfItsOwn() {
    nccl::FakeDeviceOptions device;
    device.clockOffsetNs = -98'765'432'109;
    return device;
  }
  nccl::FakeFabric fabric_;
  nccl::FakePlatform platform_{fabric_, clockOfItsOwn()};
  support::RankRecording recorded_;
};

TEST_F(HookTraceTest, WhatTheHostComputesIsTimedByTheHost) {
  const auto trace = HookTrace::create(&recorded_.tracer());
  const auto begun = trace->now(kCpu);
  EXPECT_EQ(begun.point, nullptr);
  const auto ended = trace->now(kCpu);
  trace->phase(EventKind::kHookEncode, begun, ended, 3, 1, 64);
  const auto events = written();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].startTicks, begun.ticks);
  EXPECT_EQ(events[0].durationTicks, ended.ticks - begun.ticks);
  EXPECT_EQ(events[0].detail, 0);
}

TEST_F(HookTraceTest, WhatIsQueuedOnADeviceLiesWhereItsStreamDidIt) {
  const auto trace = onDevice();
  const nccl::OnOwnStream own(platform_.device());
  std::promise<void> before;
  std::promise<void> encoded;
  queueWork(own.stream(), before.get_future().share());
  const auto begun = trace->now(kCpu);
  queueWork(own.stream(), encoded.get_future().share());
  trace->phase(EventKind::kHookEncode, begun, trace->now(kCpu), 3, 1, 64);
  EXPECT_TRUE(written().empty()) << "the stream has not come there";

  const std::uint64_t queued = base::ticks();
  before.set_value();
  while (!begun.point->passed()) {
  }
  const std::uint64_t there = base::ticks();
  encoded.set_value();
  queueAndAwait(own.stream());
  trace->close();
  const auto events = written();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].step, 3U);
  EXPECT_EQ(events[0].bucket, 1);
  EXPECT_EQ(events[0].value, 64U);
  EXPECT_EQ(events[0].detail, trace::kByDevice);
  EXPECT_GE(events[0].startTicks + kSlack, queued);
  EXPECT_GE(events[0].startTicks + events[0].durationTicks + kSlack, there);
}

TEST_F(HookTraceTest, WhatTheHostHasLearntEndsWhenItDid) {
  const auto trace = onDevice();
  const auto begun = trace->now(kCpu);
  while (base::ticks() < begun.ticks + 2 * kSlack) {
  }
  const auto learnt = HookTrace::learnt();
  trace->phase(EventKind::kHookCommunicate, begun, learnt, 3, 1, 64);
  trace->close();
  const auto events = written();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].detail, trace::kByDevice);
  EXPECT_EQ(events[0].startTicks + events[0].durationTicks, learnt.ticks);
  EXPECT_LE(events[0].startTicks, begun.ticks + kSlack);
}

TEST_F(HookTraceTest, NothingIsRecordedOnceItIsClosed) {
  const auto host = HookTrace::create(&recorded_.tracer());
  const auto device = onDevice();
  const auto begun = device->now(kCpu);
  host->close();
  device->close();
  host->phase(EventKind::kHookCommunicate, begun, HookTrace::learnt(), 3, 1, 64);
  device->phase(EventKind::kHookCommunicate, begun, HookTrace::learnt(), 3, 1, 64);
  EXPECT_EQ(device->now(kCpu).point, nullptr);
  EXPECT_TRUE(written().empty());
}

TEST_F(HookTraceTest, WithoutATracerNothingIsAskedOfTheDevice) {
  const auto trace =
      HookTrace::create(nullptr, "hook", std::make_shared<device::DeviceSpans>(platform_.device()));
  const auto begun = trace->now(kCpu);
  EXPECT_EQ(begun.point, nullptr);
  trace->phase(EventKind::kHookEncode, begun, trace->now(kCpu), 0, 0, 0);
}

}  // namespace
}  // namespace lockstep::hooks
