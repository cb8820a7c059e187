// NCCL's profiler plugin against a fake NCCL: what it loads, calls and tells is NCCL's interface;
// no GPU was near it.

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/observer/native/nccl/nccl_sink.h"
#include "engine/observer/native/observer.h"
#include "engine/trace/DeviceTimed.h"
#include "engine/trace/Event.h"
#include "engine/trace/Messages.h"
#include "engine/trace/Segment.h"
#include "engine/trace/SegmentReader.h"
#include "tests/engine/observer/FakeNccl.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;
using trace::EventKind;

constexpr std::uint64_t kAhead = 1'000'000'000'000;  // of the GPU's clock, ns
constexpr std::uint16_t kNoBucket = trace::kNoBucket;

/// The GPU's clock.
std::uint64_t deviceNow() {
  return static_cast<std::uint64_t>(base::monotonicNs()) + kAhead;
}

std::string file() {
  return LOCKSTEP_NCCL_PROFILER;
}

class NcclProfiler : public testing::TestWithParam<int> {
 protected:
  NcclProfiler()
      : segment_(trace::Segment::create({8, 1u << 12, 1u << 14}).value()),
        reader_(segment_),
        nccl_(file(), GetParam()) {
    const char* why = nullptr;
    observer_.reset(lk_observer_open(
        segment_.fd(),
        base::clockSource() == base::ClockSource::kTsc ? LK_CLOCK_TSC : LK_CLOCK_MONOTONIC, &why));
    EXPECT_NE(observer_, nullptr) << why;
    while (lk_observer_ticks_of(observer_.get(), 1'000'000) == 0) {  // a rate takes a millisecond
    }
  }

  ~NcclProfiler() override { EXPECT_TRUE(nccl_.succeeded()); }

  template <typename Function>
  Function symbol(const char* name) {
    return reinterpret_cast<Function>(dlsym(nccl_.library(), name));
  }

  int attach(unsigned abi = LK_NCCL_ABI) {
    const lk_nccl_sink sink{abi,          observer_.get(),  lk_observer_lane,
                            lk_lane_span, lk_observer_send, lk_observer_ticks_at};
    return symbol<lk_nccl_attach_function>("lockstep_nccl_attach")(&sink);
  }

  void expect(const std::vector<std::uint64_t>& elements) {
    symbol<lk_nccl_expect_function>("lockstep_nccl_expect")(elements.data(),
                                                            static_cast<int>(elements.size()));
  }

  void step(std::uint32_t number) { symbol<lk_nccl_step_function>("lockstep_nccl_step")(number); }

  /// One collective from its call to its launch.
  void* launch(void* context, std::uint64_t sequence, const char* function, std::size_t count,
               std::uint8_t channels = 2) {
    void* call = nccl_.collApi(context, function, count, "ncclFloat32");
    return nccl_.coll(context, call, sequence, function, count, "ncclFloat32", channels);
  }

  /// Its kernel, channel after channel, all over when this returns.
  void fly(void* context, void* work, std::uint8_t channels = 2) {
    std::vector<void*> handles;
    for (std::uint8_t channel = 0; channel < channels; ++channel) {
      handles.push_back(nccl_.kernelStart(context, work, channel, deviceNow()));
    }
    for (void* handle : handles) {
      nccl_.kernelStop(handle, deviceNow());
    }
  }

  std::vector<trace::Event> drained(const std::string& lane) {
    std::vector<trace::Event> events;
    for (std::uint32_t i = 0; i < reader_.lanes(); ++i) {
      if (reader_.laneName(i) == lane) {
        reader_.drainLane(i, [&](const trace::Event& event) { events.push_back(event); });
      }
    }
    return events;
  }

  std::vector<std::string> messages() {
    std::vector<std::string> texts;
    EXPECT_TRUE(reader_.drainMessages([&](std::string_view text) { texts.emplace_back(text); }));
    for (const std::string& text : texts) {
      EXPECT_TRUE(trace::messageFromJson(text).ok()) << text;
    }
    return texts;
  }

  struct Close {
    void operator()(lk_observer* observer) const { lk_observer_close(observer); }
  };

  trace::Segment segment_;
  trace::SegmentReader reader_;
  // The plugin keeps it for as long as it is loaded, which is until nccl_ goes.
  std::unique_ptr<lk_observer, Close> observer_;
  FakeNccl nccl_;
};

INSTANTIATE_TEST_SUITE_P(Versions, NcclProfiler, testing::Values(4, 5, 6),
                         [](const auto& info) { return "V" + std::to_string(info.param); });

TEST_P(NcclProfiler, IsFoundAndAsksForNothingWhereNobodyRecords) {
  ASSERT_TRUE(nccl_.isLoaded());
  EXPECT_STREQ(nccl_.name(), "Lockstep");
  void* context = nccl_.init(4, 1);
  EXPECT_EQ(nccl_.mask, 0);
  nccl_.mask = FakeNccl::kColl | FakeNccl::kKernelChannel;  // what was under way as it was asked
  EXPECT_EQ(launch(context, 0, "AllReduce", 100), nullptr);
  nccl_.finalize(context);
  EXPECT_EQ(reader_.lanes(), 0u);
}

TEST_P(NcclProfiler, IsAskedForEventsOnceAProcessIsRecordedWhicheverCameFirst) {
  void* before = nccl_.init(2, 0);
  EXPECT_EQ(nccl_.mask, 0);
  ASSERT_EQ(attach(), 1);
  const int wanted = FakeNccl::kColl | FakeNccl::kP2p | FakeNccl::kKernelChannel |
                     (GetParam() > 4 ? FakeNccl::kCollApi | FakeNccl::kP2pApi : 0);
  EXPECT_EQ(nccl_.mask, wanted);
  nccl_.mask = -1;
  void* after = nccl_.init(2, 0);
  EXPECT_EQ(nccl_.mask, wanted);
  EXPECT_EQ(nccl_.other(after, FakeNccl::kProxyOp), nullptr);
  nccl_.finalize(before);
  nccl_.finalize(after);
}

TEST_P(NcclProfiler, RefusesAModuleOfAnotherVersion) {
  void* context = nccl_.init(2, 0);
  EXPECT_EQ(attach(LK_NCCL_ABI + 1), 0);
  EXPECT_EQ(nccl_.mask, 0);
  nccl_.finalize(context);
}

TEST_P(NcclProfiler, TellsOfEachCollectiveWhenItWasCalledAndWhenItsKernelRan) {
  ASSERT_EQ(attach(), 1);
  step(7);
  void* context = nccl_.init(4, 1);
  const std::uint64_t before = base::ticks();
  void* work = launch(context, 5, "ReduceScatter", 1000);
  const std::uint64_t launched = base::ticks();
  fly(context, work);
  const std::uint64_t after = base::ticks();

  const auto calls = drained("nccl 0 calls");
  ASSERT_THAT(calls, SizeIs(1));
  const std::uint64_t slack = lk_observer_ticks_of(observer_.get(), 50'000);
  EXPECT_EQ(calls[0].kind, static_cast<std::uint16_t>(EventKind::kNcclCall));
  EXPECT_GE(calls[0].startTicks + slack, before);
  EXPECT_LE(calls[0].startTicks + calls[0].durationTicks, launched + slack);
  EXPECT_EQ(calls[0].durationTicks > 0, GetParam() > 4);  // version 4 tells of no call
  EXPECT_EQ(calls[0].step, 7u);
  EXPECT_EQ(trace::collectiveSequence(calls[0].value), 5u);
  EXPECT_EQ(trace::collectiveBytes(calls[0].value), 4u * 4000u);  // of 4 ranks
  EXPECT_EQ(calls[0].detail, trace::packOperation(trace::Operation::kReduceScatter));

  const auto kernels = drained("nccl 0 kernels");
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_EQ(kernels[0].kind, static_cast<std::uint16_t>(EventKind::kNcclKernel));
  EXPECT_EQ(kernels[0].detail,
            trace::packOperation(trace::Operation::kReduceScatter) | trace::kByDevice);
  EXPECT_EQ(kernels[0].value, calls[0].value);
  EXPECT_GT(kernels[0].durationTicks, 0u);
  EXPECT_GE(kernels[0].startTicks + slack, launched);
  EXPECT_LE(kernels[0].startTicks + kernels[0].durationTicks, after + slack);
  nccl_.finalize(context);
}

TEST_P(NcclProfiler, PutsKernelsWhereTheGpusClockStandsAndSaysHowLateThatMayBe) {
  ASSERT_EQ(attach(), 1);
  void* context = nccl_.init(2, 0);
  // NCCL tells late of the first, and at once of the second: then it is known when the first was.
  void* first = launch(context, 0, "AllReduce", 10, 1);
  const std::uint64_t begun = deviceNow();
  const std::uint64_t begunTicks = base::ticks();
  fly(context, launch(context, 1, "AllReduce", 10, 1), 1);
  const std::int64_t until = base::monotonicNs() + 20'000'000;
  while (base::monotonicNs() < until) {
  }
  nccl_.kernelStop(nccl_.kernelStart(context, first, 0, begun), begun + 1000);
  const auto kernels = drained("nccl 0 kernels");
  ASSERT_THAT(kernels, SizeIs(2));
  const std::uint64_t slack = lk_observer_ticks_of(observer_.get(), 5'000'000);
  EXPECT_GE(kernels[1].startTicks + slack, begunTicks);
  EXPECT_LE(kernels[1].startTicks, begunTicks + slack);
  const auto told = messages();
  const auto numbers = [&]() -> std::vector<double> {
    std::vector<double> found;
    for (const std::string& text : told) {
      const auto message = trace::messageFromJson(text).value();
      if (const auto* logging = std::get_if<trace::DdpLoggingMessage>(&message)) {
        found.push_back(logging->numbers.at("nccl.0.late_by_at_most_ns"));
      }
    }
    return found;
  }();
  if (GetParam() > 4) {
    EXPECT_THAT(numbers, AllOf(SizeIs(1), Each(AllOf(Ge(0), Le(20e6)))));
  } else {
    EXPECT_THAT(numbers, IsEmpty());  // without a call nothing bounds it
  }
  nccl_.finalize(context);
}

TEST_P(NcclProfiler, JoinsTheBucketsOfABackwardByOrderAndElementsInOneCommunicator) {
  ASSERT_EQ(attach(), 1);
  void* other = nccl_.init(2, 0);
  void* ddp = nccl_.init(2, 0);
  const auto bucketsOf = [this](const std::string& lane) {
    std::vector<std::uint16_t> buckets;
    for (const trace::Event& event : drained(lane)) {
      buckets.push_back(event.bucket);
    }
    return buckets;
  };
  // What is taken for a bucket elsewhere, by chance, is not held to in the next backward.
  expect({300, 200});
  launch(other, 0, "AllReduce", 300);
  launch(ddp, 0, "AllReduce", 300);
  EXPECT_THAT(bucketsOf("nccl 0 calls"), ElementsAre(0));
  EXPECT_THAT(bucketsOf("nccl 1 calls"), ElementsAre(kNoBucket));

  expect({300, 200});
  launch(other, 1, "AllReduce", 7);
  launch(ddp, 0, "Broadcast", 1200);
  launch(ddp, 1, "AllReduce", 300);
  launch(other, 2, "AllReduce", 200);  // as large as a bucket, elsewhere
  launch(ddp, 2, "AllReduce", 50);     // of the user's own
  launch(ddp, 3, "AllReduce", 200);
  launch(ddp, 4, "AllReduce", 200);  // all buckets have come
  EXPECT_THAT(bucketsOf("nccl 1 calls"), ElementsAre(kNoBucket, 0, kNoBucket, 1, kNoBucket));
  EXPECT_THAT(bucketsOf("nccl 0 calls"), ElementsAre(kNoBucket, kNoBucket));

  // From now on it is known which communicator reduces them.
  expect({300});
  launch(other, 3, "AllReduce", 300);
  launch(ddp, 5, "AllReduce", 300);
  EXPECT_THAT(bucketsOf("nccl 0 calls"), ElementsAre(kNoBucket));
  EXPECT_THAT(bucketsOf("nccl 1 calls"), ElementsAre(0));
  nccl_.finalize(other);
  nccl_.finalize(ddp);
}

TEST_P(NcclProfiler, SeesSendsAndReceivesAndLeavesOutWhatAGraphCaptured) {
  ASSERT_EQ(attach(), 1);
  void* context = nccl_.init(2, 0);
  void* work = nccl_.p2p(context, nullptr, "Send", 25, "ncclBfloat16", 1);
  fly(context, work, 1);
  const auto kernels = drained("nccl 0 kernels");
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_EQ(trace::operationOf(kernels[0].detail), trace::Operation::kSend);
  EXPECT_EQ(trace::collectiveBytes(kernels[0].value), 50u);
  // The call of a captured collective is long over when its kernel runs.
  if (GetParam() > 4) {
    EXPECT_EQ(nccl_.collApi(context, "AllReduce", 1, "ncclFloat32", true), nullptr);
  }
  nccl_.finalize(context);
}

TEST_P(NcclProfiler, ServesCommunicatorsOnThreadsOfTheirOwn) {
  ASSERT_EQ(attach(), 1);
  constexpr int kThreads = 3;
  constexpr int kEach = 200;
  std::vector<void*> contexts;
  for (int i = 0; i < kThreads; ++i) {
    contexts.push_back(nccl_.init(2, 0));
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, context = contexts[static_cast<std::size_t>(i)]] {
      for (int n = 0; n < kEach; ++n) {
        void* work = launch(context, static_cast<std::uint64_t>(n), "AllReduce", 10);
        std::thread proxy([&] { fly(context, work); });
        proxy.join();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (int i = 0; i < kThreads; ++i) {
    std::uint32_t next = 0;
    for (const trace::Event& event : drained("nccl " + std::to_string(i) + " kernels")) {
      EXPECT_EQ(trace::collectiveSequence(event.value), next++);
      EXPECT_EQ(trace::groupOf(event.detail & ~trace::kByDevice), i);
    }
    EXPECT_EQ(next, static_cast<std::uint32_t>(kEach));
    nccl_.finalize(contexts[static_cast<std::size_t>(i)]);
  }
  EXPECT_THAT(messages(), testing::Not(Each(HasSubstr("problem"))));
}

TEST_P(NcclProfiler, SurvivesWhatComesLateAndSaysWhatNeverCame) {
  ASSERT_EQ(attach(), 1);
  void* context = nccl_.init(4, 3);
  void* forgotten = launch(context, 0, "AllReduce", 10);
  void* begun = nccl_.kernelStart(context, forgotten, 0, deviceNow());
  ASSERT_NE(begun, nullptr);
  for (int i = 1; i <= 1024; ++i) {  // its place is needed
    fly(context, launch(context, static_cast<std::uint64_t>(i), "AllReduce", 10));
    static_cast<void>(drained("nccl 0 kernels"));
  }
  nccl_.kernelStop(begun, deviceNow());
  EXPECT_EQ(nccl_.kernelStart(context, forgotten, 1, deviceNow()), nullptr);
  EXPECT_THAT(drained("nccl 0 kernels"), IsEmpty());
  void* open = launch(context, 1025, "AllReduce", 10);
  void* channel = nccl_.kernelStart(context, open, 0, deviceNow());
  nccl_.finalize(context);
  nccl_.kernelStop(channel, deviceNow());
  const auto told = messages();
  EXPECT_THAT(told, testing::Contains(HasSubstr("\"nccl.communicator.0\":\"rank 3 of 4\"")));
  EXPECT_THAT(told, testing::Contains(HasSubstr(
                        "NCCL never told when 2 kernels of its communicator 0 had ended: they are "
                        "not in this run")));
}

}  // namespace
}  // namespace lockstep
