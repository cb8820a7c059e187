#include "engine/device/DeviceSpans.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>

#include "engine/trace/DeviceTimed.h"
#include "engine/trace/Event.h"
#include "tests/engine/process_group/nccl/FakePlatform.h"
#include "tests/support/RankRecording.h"

namespace lockstep::device {
namespace {

using process_group::nccl::FakeDeviceOptions;
using process_group::nccl::FakeFabric;
using process_group::nccl::FakePlatform;
using process_group::nccl::OnOwnStream;
using trace::EventKind;

class DeviceSpansTest : public testing::Test {
 protected:
  /// Queues work that goes on until the future of `until` is set.
  void queueWork(const c10::Stream& stream, std::shared_future<void> until) {
    platform_.device().onStream(stream, [until] { until.wait(); });
  }
  void queueAndAwait(const c10::Stream& stream) {
    std::promise<void> done;
    platform_.device().onStream(stream, [&] { done.set_value(); });
    done.get_future().wait();
  }
  static FakeDeviceOptions clockOfItsOwn() {
    FakeDeviceOptions device;
    device.clockOffsetNs = 123'456'789'012;
    return device;
  }

  FakeFabric fabric_;
  FakePlatform platform_{fabric_, clockOfItsOwn()};
  support::RankRecording recorded_;
  trace::Lane& lane_ = recorded_.tracer().lane("step");
};

TEST_F(DeviceSpansTest, LieWhereTheDeviceWorkedAndNotWhereTheHostQueuedIt) {
  std::optional<DeviceSpans> spans(std::in_place, platform_.device());
  const OnOwnStream own(platform_.device());
  std::promise<void> first;
  std::promise<void> second;
  queueWork(own.stream(), first.get_future().share());
  const auto begin = spans->now();
  queueWork(own.stream(), second.get_future().share());
  spans->add(lane_, EventKind::kForward, begin, spans->now(), 7, 3, 99);
  spans->write();
  EXPECT_TRUE(recorded_.lanes()["step"].empty()) << "the device has not come there";

  const std::uint64_t began = base::ticks();
  first.set_value();
  while (!begin->passed()) {
  }
  const std::uint64_t ended = base::ticks();
  second.set_value();
  queueAndAwait(own.stream());
  const std::uint64_t after = base::ticks();
  spans.reset();
  const auto written = recorded_.lanes()["step"];
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0].kind, static_cast<std::uint16_t>(EventKind::kForward));
  EXPECT_EQ(written[0].step, 7u);
  EXPECT_EQ(written[0].bucket, 3);
  EXPECT_EQ(written[0].value, 99u);
  EXPECT_EQ(written[0].detail, trace::kByDevice);
  // The clocks are related to within the time that a thread of the double takes to wake.
  constexpr std::uint64_t slack = 40'000'000;
  EXPECT_GE(written[0].startTicks + slack, began);
  EXPECT_LE(written[0].startTicks, ended + slack);
  EXPECT_GE(written[0].startTicks + written[0].durationTicks + slack, ended);
  EXPECT_LE(written[0].startTicks + written[0].durationTicks, after + slack);
}

TEST_F(DeviceSpansTest, HaveTheirLengthAlsoRightAfterTheClocksWereRelated) {
  const base::ClockReading first = base::readClock();
  DeviceClock clock(platform_.device());
  clock.relate(std::chrono::seconds(10));
  const OnOwnStream own(platform_.device());
  const auto begin = platform_.device().makeEvent(true);
  const auto end = platform_.device().makeEvent(true);
  begin->record(own.stream());
  queueAndAwait(own.stream());
  const std::uint64_t passed = base::ticks();
  while (base::monotonicNs() - first.ns < 40'000'000) {
  }
  const std::uint64_t before = base::ticks();
  end->record(own.stream());
  queueAndAwait(own.stream());
  const auto span = clock.spanOf(*begin, *end);
  ASSERT_TRUE(span);
  EXPECT_GE(static_cast<double>(span->endTicks - span->beginTicks),
            0.99 * static_cast<double>(before - passed));
}

TEST_F(DeviceSpansTest, AreWrittenInTheirOrderAtTheEndAtLatest) {
  {
    DeviceSpans spans(platform_.device());
    const OnOwnStream own(platform_.device());
    std::promise<void> gate;
    queueWork(own.stream(), gate.get_future().share());
    for (std::uint32_t step = 0; step < 3; ++step) {
      const auto begin = spans.now();
      spans.add(lane_, EventKind::kForward, begin, spans.now(), step);
    }
    gate.set_value();
    queueAndAwait(own.stream());
  }
  const auto written = recorded_.lanes()["step"];
  ASSERT_EQ(written.size(), 3u);
  for (std::uint32_t step = 0; step < 3; ++step) {
    EXPECT_EQ(written[step].step, step);
  }
}

TEST_F(DeviceSpansTest, OfADeviceThatFailedAreLeftOut) {
  DeviceSpans spans(platform_.device());
  const auto begin = spans.now();
  spans.add(lane_, EventKind::kForward, begin, spans.now(), 0);
  platform_.failDevice("an illegal memory access");
  spans.write();
  EXPECT_EQ(spans.now(), nullptr) << "nothing more is asked of it";
  spans.add(lane_, EventKind::kBackward, begin, nullptr, 0);
  spans.write();
  EXPECT_TRUE(recorded_.lanes()["step"].empty());
}

TEST(MakeDeviceSpans, GivesNoneForTheCpu) {
  EXPECT_EQ(makeDeviceSpans(c10::Device(c10::DeviceType::CPU)), nullptr);
}

}  // namespace
}  // namespace lockstep::device
