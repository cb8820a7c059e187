#include "engine/import/RankTimeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/trace/DeviceTimed.h"
#include "engine/trace/Event.h"
#include "tests/engine/import/TraceText.h"

namespace lockstep::imports {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using trace::EventKind;

RankTimeline timeline(const std::string& text) {
  return timelineOf(readText(text).value());
}

/// Begins of a kind, in µs.
std::vector<double> begins(const RankTimeline& made, EventKind kind) {
  std::vector<double> all;
  for (const TimedEvent& event : made.events) {
    if (event.kind == kind) {
      all.push_back(static_cast<double>(event.beginNs) / 1000);
    }
  }
  return all;
}

const TimedEvent& first(const RankTimeline& made, EventKind kind) {
  const auto at = std::find_if(made.events.begin(), made.events.end(),
                               [&](const TimedEvent& event) { return event.kind == kind; });
  EXPECT_NE(at, made.events.end()) << trace::name(kind);
  return *at;
}

TEST(RankTimeline, CutsAStepIntoPhases) {
  TraceText text;
  addStep(text, 4, 1000);
  const RankTimeline made = timeline(text.text());
  EXPECT_EQ(first(made, EventKind::kStep).step, 4);
  EXPECT_EQ(first(made, EventKind::kForward).beginNs, 1'010'000);
  EXPECT_EQ(first(made, EventKind::kForward).endNs, 1'120'000) << "the loss is of it";
  EXPECT_EQ(first(made, EventKind::kBackward).beginNs, 1'120'000);
  EXPECT_EQ(first(made, EventKind::kBackward).endNs, 1'719'000) << "the last copy out";
  EXPECT_EQ(first(made, EventKind::kOptimizer).beginNs, 1'800'000);
  EXPECT_EQ(made.steps, 1);
}

TEST(RankTimeline, FindsGradientsBucketsAndTheirLayout) {
  TraceText text;
  addStep(text, 4, 1000);
  addStep(text, 5, 2000);
  const RankTimeline made = timeline(text.text());
  EXPECT_THAT(begins(made, EventKind::kGradientReady),
              ElementsAre(1150, 1200, 1350, 1500, 2150, 2200, 2350, 2500));
  EXPECT_THAT(begins(made, EventKind::kBucketReady), ElementsAre(1200, 1500, 2200, 2500));
  EXPECT_THAT(begins(made, EventKind::kBucketLaunched), ElementsAre(1203, 1503, 2203, 2503));
  ASSERT_EQ(made.parameters.size(), 4);
  EXPECT_EQ(made.parameters[1].name, "gradient 1");
  EXPECT_EQ(made.parameters[1].shape, (std::vector<std::int64_t>{20}));
  EXPECT_EQ(made.parameters[1].bytes, 80);
  ASSERT_EQ(made.layouts.size(), 1);
  ASSERT_EQ(made.layouts[0].buckets.size(), 2);
  EXPECT_EQ(made.layouts[0].step, 4);
  EXPECT_THAT(made.layouts[0].buckets[0].parameters, ElementsAre(0, 1));
  EXPECT_THAT(made.layouts[0].buckets[0].offsets, ElementsAre(0, 40));
  EXPECT_EQ(made.layouts[0].buckets[0].bytes, 120);
  EXPECT_EQ(made.layouts[0].buckets[1].dtype, "float32");
  EXPECT_THAT(notesOf(made),
              ElementsAre("parameters have no names in a trace: they are numbered in "
                          "the order in which their gradients were ready"));
}

TEST(RankTimeline, JoinsACollectiveWithTheThreadThatCarriedItOut) {
  TraceText text;
  addStep(text, 0, 1000, 30);
  const RankTimeline made = timeline(text.text());
  ASSERT_EQ(made.calls.size(), 2);
  EXPECT_EQ(*made.calls[0].askedNs, 1'203'000);
  EXPECT_EQ(made.calls[0].beginNs, 1'210'000);
  EXPECT_EQ(made.calls[0].endNs, 1'430'000);
  EXPECT_EQ(made.calls[0].bytes(), 120);
  EXPECT_EQ(made.calls[0].bucket, 0);
  EXPECT_EQ(made.calls[1].bucket, 1);
  EXPECT_EQ(made.lanes[made.calls[0].lane], "gloo 0");
}

TEST(RankTimeline, SeesWhatTheBackwardWaitsForAndCopies) {
  TraceText text;
  addStep(text, 0, 1000);
  const RankTimeline made = timeline(text.text());
  EXPECT_EQ(first(made, EventKind::kFinalize).beginNs, 1'505'000) << "the last launch";
  const TimedEvent& wait = first(made, EventKind::kWait);
  EXPECT_EQ(wait.bucket, 1) << "the first bucket had come long before";
  EXPECT_EQ(wait.beginNs, 1'529'000) << "behind the copies out of the first one";
  EXPECT_EQ(wait.endNs, 1'700'000);
  EXPECT_THAT(begins(made, EventKind::kCopyOut), ElementsAre(1520, 1710));
  EXPECT_EQ(first(made, EventKind::kCopyOut).value, 120);
  EXPECT_EQ(begins(made, EventKind::kCopyIn).size(), 4);
}

TEST(RankTimeline, SaysThatSizesWereNotRecorded) {
  TraceText text;
  addStep(text, 0, 1000, 0, false);
  const RankTimeline made = timeline(text.text());
  EXPECT_EQ(made.parameters.at(0).dtype, "");
  EXPECT_EQ(made.layouts.size(), 1) << "buckets are known by the order all the same";
  EXPECT_THAT(notesOf(made), Contains("parameters have neither names nor sizes in this trace "
                                      "(record_shapes=True would give sizes): they are numbered in "
                                      "the order in which their gradients were ready"));
}

TEST(RankTimeline, ClaimsNoLayoutWhereTheCollectiveCarriesSomethingElse) {
  TraceText text;
  text.mark("ProfilerStep#0", 1000, 1000).op(kNode, 1120, 20);
  addGradient(text, 1150, 10);
  addGradient(text, 1200, 20);
  addGlooBucket(text, 1203, 29, 1210, 1400);
  const RankTimeline made = timeline(text.text());
  EXPECT_THAT(made.layouts, IsEmpty());
  EXPECT_EQ(first(made, EventKind::kGradientReady).bucket, trace::kNoBucket);
  EXPECT_THAT(notesOf(made),
              Contains("in 1 of its backwards the collectives do not carry what was ready before "
                       "them (a communication hook, or buckets in another order): which gradients "
                       "share a bucket is not known there"));
}

TEST(RankTimeline, LeavesOutGradientsThatAreOthersThanBefore) {
  TraceText text;
  addStep(text, 0, 1000);
  text.mark("ProfilerStep#1", 2000, 1000).op(kNode, 2120, 20);
  addGradient(text, 2150, 11);
  addGlooBucket(text, 2153, 11, 2160, 2400);
  const RankTimeline made = timeline(text.text());
  EXPECT_EQ(begins(made, EventKind::kGradientReady).size(), 4);
  EXPECT_EQ(begins(made, EventKind::kBucketLaunched).size(), 3);
  EXPECT_THAT(notesOf(made),
              Contains("1 of its backwards had other gradients, or in another order, "
                       "than the first: these are left out"));
}

TEST(RankTimeline, KeepsTheFirstOfManyLayouts) {
  TraceText text;
  for (int i = 0; i < 10; ++i) {
    const double at = 1000.0 * (i + 1);
    text.mark(fmt::format("ProfilerStep#{}", i), at, 1000).op(kNode, at + 10, 20);
    addGradient(text, at + 100, 10);
    if (i % 2 == 0) {
      addGlooBucket(text, at + 103, 10, at + 105, at + 150);
    }
    addGradient(text, at + 200, 20);
    addGlooBucket(text, at + 203, i % 2 == 0 ? 20 : 30, at + 205, at + 250);
  }
  const RankTimeline made = timeline(text.text());
  EXPECT_EQ(made.layouts.size(), 8);
  EXPECT_EQ(made.layouts[1].reason, "changed");
  EXPECT_THAT(notesOf(made),
              Contains("its buckets change again and again: the first layouts are kept"));
}

TEST(RankTimeline, MicroBatchesHaveABackwardEachAndOneOfThemBuckets) {
  TraceText text;
  text.mark("ProfilerStep#0", 1000, 1000)
      .mark("DistributedDataParallel.forward", 1010, 40)
      .op(kNode, 1060, 20);
  addGradient(text, 1100, 10);
  text.mark("DistributedDataParallel.forward", 1200, 40).op(kNode, 1260, 20);
  addGradient(text, 1300, 10);
  addGlooBucket(text, 1303, 10, 1310, 1400);
  const RankTimeline made = timeline(text.text());
  EXPECT_THAT(begins(made, EventKind::kBackward), ElementsAre(1060, 1260));
  EXPECT_THAT(begins(made, EventKind::kGradientReady), ElementsAre(1300));
}

TEST(RankTimeline, CountsForwardsWhereThereIsNoProfilerStep) {
  TraceText text;
  text.mark("DistributedDataParallel.forward", 1000, 100)
      .mark("Optimizer.step#SGD.step", 1200, 50)
      .mark("DistributedDataParallel.forward", 2000, 100);
  const RankTimeline made = timeline(text.text());
  EXPECT_THAT(begins(made, EventKind::kStep), ElementsAre(1000, 2000));
  EXPECT_THAT(notesOf(made),
              ElementsAre("the trace has no ProfilerStep (profiler.step() makes them): an "
                          "iteration is what lies between two forwards of DistributedDataParallel",
                          "the trace has no collectives"));
}

TEST(RankTimeline, SaysThatThereAreNoIterationsAtAll) {
  const RankTimeline made =
      timeline(TraceText().op("record_param_comms", 5, 1, R"("Collective name":"barrier")").text());
  EXPECT_THAT(notesOf(made), Contains("the trace has neither a ProfilerStep nor a forward of "
                                      "DistributedDataParallel: it is shown without iterations"));
  EXPECT_THAT(notesOf(made),
              Contains("of 1 of its 1 collectives the trace says that they were asked "
                       "for, and not when they were carried out: in flight is what it "
                       "says of the others"));
}

TEST(RankTimeline, SaysWhichCollectivesHaveNoSize) {
  const RankTimeline made = timeline(TraceText()
                                         .mark("ProfilerStep#0", 1, 100)
                                         .event("user_annotation", "gloo:all_reduce", 7, 5, 2)
                                         .text());
  EXPECT_THAT(notesOf(made),
              Contains("the trace does not say how large 1 of its 1 collectives were: "
                       "their bytes are shown as 0"));
}

/// A step whose kernels run 10 ms behind the host.
std::string onDevice(bool launches) {
  TraceText text;
  int correlation = 0;
  const auto kernel = [&](const std::string& name, double launch, double begin, double duration,
                          int stream) {
    ++correlation;
    if (launches) {
      text.event("cuda_runtime", "cudaLaunchKernel", 2, launch, 1,
                 fmt::format(R"("correlation":{})", correlation));
    }
    text.event("kernel", name, stream, begin, duration,
               fmt::format(R"("stream":{},"correlation":{})", stream, correlation));
  };
  text.mark("ProfilerStep#0", 1000, 1000).mark("DistributedDataParallel.forward", 1010, 90);
  kernel("gemm", 1020, 11'000, 100, 7);
  text.event("cpu_op", kNode, 2, 1120, 20);
  kernel("gemm", 1125, 11'100, 50, 7);
  kernel("add", 1130, 11'120, 60, 8);
  text.event("cpu_op", kGradient, 2, 1150, 20)
      .event("cpu_op", "torch::autograd::AccumulateGrad", 2, 1151, 1,
             R"("Input Dims":[[10]],"Input type":["float"])")
      .event("cpu_op", "c10d::allreduce_", 2, 1160, 8)
      .event("cpu_op", "record_param_comms", 2, 1161, 6,
             R"("Collective name":"allreduce","In msg nelems":10,"dtype":"Float","Seq":4)");
  kernel("ncclKernel_AllReduce_RING_LL_Sum_float(x)", 1163, 11'185, 400, 20);
  return text.text();
}

TEST(RankTimeline, PutsWhatADeviceDoesIntoTheDevicesTime) {
  const RankTimeline made = timeline(onDevice(true));
  EXPECT_THAT(begins(made, EventKind::kKernels), ElementsAre(11'000));
  EXPECT_EQ(first(made, EventKind::kKernels).endNs, 11'180'000) << "kernels without a gap are one";
  EXPECT_EQ(first(made, EventKind::kKernels).value, 3);
  const TimedEvent& backward = first(made, EventKind::kBackward);
  EXPECT_EQ(backward.beginNs, 11'100'000);
  EXPECT_EQ(backward.endNs, 11'180'000);
  EXPECT_EQ(backward.detail, trace::kByDevice);
  EXPECT_EQ(first(made, EventKind::kGradientReady).beginNs, 11'180'000);
  EXPECT_EQ(first(made, EventKind::kBucketLaunched).beginNs, 11'180'000);
  EXPECT_THAT(begins(made, EventKind::kWait), IsEmpty()) << "the host does not wait there";
  ASSERT_EQ(made.calls.size(), 1);
  EXPECT_EQ(made.calls[0].beginNs, 11'185'000);
  EXPECT_EQ(made.calls[0].facts.sequence, 4);
  EXPECT_EQ(made.calls[0].bucket, 0);
  EXPECT_EQ(made.lanes[made.calls[0].lane], "stream 20");
}

TEST(RankTimeline, SaysThatKernelsCannotBeJoinedToTheHost) {
  const RankTimeline made = timeline(onDevice(false));
  EXPECT_EQ(first(made, EventKind::kBackward).beginNs, 1'120'000);
  EXPECT_THAT(notesOf(made),
              Contains("the trace does not say what started its kernels: phases, gradients and "
                       "buckets stand at the host's time, kernels at the device's"));
}

}  // namespace
}  // namespace lockstep::imports
