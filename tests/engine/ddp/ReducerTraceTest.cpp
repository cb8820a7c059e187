#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/DistributedDataParallel.h"
#include "engine/trace/DeviceTimed.h"
#include "engine/trace/Event.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"
#include "tests/engine/process_group/nccl/FakePlatform.h"
#include "tests/support/RankRecording.h"

namespace lockstep::ddp {
namespace {

using test::Net;
using testing::ElementsAre;
using trace::Event;
using trace::EventKind;
using Recording = support::RankRecording;

DdpOptions options(Recording& recording) {
  DdpOptions options = test::withCaps(40, 100);
  options.tracer = &recording.tracer();
  return options;
}

void step(DistributedDataParallel& ddp, std::uint32_t index) {
  ddp.setStep(index);
  ddp.forward<Net>(at::ones({2, 4})).sum().backward();
}

std::vector<Event> ofKind(const std::vector<Event>& events, EventKind kind) {
  std::vector<Event> found;
  for (const Event& event : events) {
    if (event.kind == static_cast<std::uint16_t>(kind)) {
      found.push_back(event);
    }
  }
  return found;
}

TEST(ReducerTrace, SendsParametersAndBothLayouts) {
  test::runRanksWell(2, [](auto group) {
    Recording recording;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 2});
    DistributedDataParallel ddp(net, group, options(recording));
    step(ddp, 10);
    step(ddp, 11);
    const auto messages = recording.messages();
    ASSERT_EQ(messages.size(), 3u);

    const auto& parameters = std::get<trace::ParametersMessage>(messages[0]).parameters;
    ASSERT_EQ(parameters.size(), 4u);
    EXPECT_EQ(parameters[0],
              (trace::ParametersMessage::Parameter{"fc0.weight", {6, 4}, "float32", 24, 96}));

    const auto& first = std::get<trace::BucketsMessage>(messages[1]);
    EXPECT_EQ(first.layout, 0u);
    EXPECT_EQ(first.step, 0u);
    EXPECT_EQ(first.reason, "construction");
    EXPECT_THAT(first.buckets, ElementsAre(trace::BucketsMessage::Bucket{
                                   {0, 1, 2, 3}, {0, 96, 120, 168}, 176, 0, "float32"}));

    const auto& second = std::get<trace::BucketsMessage>(messages[2]);
    EXPECT_EQ(second.layout, 1u);
    EXPECT_EQ(second.step, 11u);
    EXPECT_EQ(second.reason, "rebuild");
    EXPECT_THAT(second.buckets,
                ElementsAre(trace::BucketsMessage::Bucket{{3, 2}, {0, 8}, 56, 40, "float32"},
                            trace::BucketsMessage::Bucket{{1, 0}, {0, 24}, 120, 100, "float32"}));
  });
}

TEST(ReducerTrace, TellsTheBucketsAndTheEndOfTheBackwardByTheDevicesClock) {
  namespace nccl = process_group::nccl;
  test::runRanksWell(2, [](auto group) {
    const nccl::FakeFabric fabric;
    nccl::FakeDeviceOptions device;
    device.clockOffsetNs = 123'456'789'012;
    const nccl::FakePlatform platform(fabric, device);
    Recording recording;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 2});
    {
      DdpOptions onDevice = options(recording);
      onDevice.deviceSpans = std::make_shared<device::DeviceSpans>(platform.device());
      DistributedDataParallel ddp(net, group, onDevice);
      step(ddp, 0);
      step(ddp, 1);
    }
    std::map<std::uint32_t, std::vector<EventKind>> kinds;
    const std::uint64_t now = base::ticks();
    const auto lanes = recording.lanes();
    for (const Event& event : lanes.at("ddp")) {
      const auto kind = static_cast<EventKind>(event.kind);
      EXPECT_NE(kind, EventKind::kCopyIn) << "the copies are part of the device's backward";
      EXPECT_LE(event.startTicks, now + 40'000'000) << "on the host's axis";
      if ((event.detail & trace::kByDevice) != 0) {
        kinds[event.step].push_back(kind);
      }
    }
    using enum EventKind;
    EXPECT_THAT(kinds[0], ElementsAre(kBucketReady, kBucketLaunched, kWait, kCopyOut, kFinalize))
        << "one bucket";
    EXPECT_THAT(kinds[1], ElementsAre(kBucketReady, kBucketLaunched, kBucketReady, kBucketLaunched,
                                      kWait, kCopyOut, kWait, kCopyOut, kFinalize));
  });
}

TEST(ReducerTrace, TellsABatchOfCopiesAsOneOfTheBucket) {
  test::runRanksWell(2, [](auto group) {
    Recording recording;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 2});
    DdpOptions batched = options(recording);
    batched.batchedGradCopy = true;
    DistributedDataParallel ddp(net, group, batched);
    step(ddp, 0);
    static_cast<void>(recording.lanes());
    step(ddp, 1);
    const auto copied = ofKind(recording.lanes().at("ddp"), EventKind::kCopyIn);
    ASSERT_EQ(copied.size(), 2u);
    EXPECT_EQ(copied[0].bucket, 0);
    EXPECT_EQ(copied[0].value, 56u);  // bytes
    EXPECT_EQ(copied[0].detail, trace::kWholeBucket);
    EXPECT_EQ(copied[1].value, 120u);
  });
}

TEST(ReducerTrace, TellsTheLifeOfEachGradientAndBucket) {
  test::runRanksWell(2, [](auto group) {
    Recording recording;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 2});
    DistributedDataParallel ddp(net, group, options(recording));
    step(ddp, 0);
    static_cast<void>(recording.lanes());
    step(ddp, 1);
    const auto events = recording.lanes().at("ddp");

    std::vector<EventKind> kinds;
    for (const Event& event : events) {
      EXPECT_EQ(event.step, 1u);
      kinds.push_back(static_cast<EventKind>(event.kind));
    }
    using enum EventKind;
    EXPECT_THAT(kinds, ElementsAre(kRebuildBuckets, kGradientReady, kCopyIn, kGradientReady,
                                   kCopyIn, kBucketReady, kBucketLaunched, kGradientReady, kCopyIn,
                                   kGradientReady, kCopyIn, kBucketReady, kBucketLaunched, kWait,
                                   kCopyOut, kWait, kCopyOut, kFinalize));

    const auto ready = ofKind(events, kGradientReady);
    EXPECT_EQ(ready[0].value, 3u);  // the parameter's index
    EXPECT_EQ(ready[3].value, 0u);
    const auto copied = ofKind(events, kCopyIn);
    EXPECT_EQ(copied[2].bucket, 1);
    EXPECT_EQ(copied[2].value, 1u);
    const auto launched = ofKind(events, kBucketLaunched);
    EXPECT_EQ(launched[0].bucket, 0);
    EXPECT_EQ(launched[0].value, 56u);  // bytes
    EXPECT_EQ(launched[1].bucket, 1);
    const auto waits = ofKind(events, kWait);
    const auto copies = ofKind(events, kCopyOut);
    EXPECT_EQ(waits[0].startTicks + waits[0].durationTicks, copies[0].startTicks);
    EXPECT_EQ(copies[1].value, 120u);
    const Event& whole = events.back();
    EXPECT_LE(whole.startTicks, waits[0].startTicks);
    EXPECT_GE(whole.startTicks + whole.durationTicks,
              copies[1].startTicks + copies[1].durationTicks);
  });
}

TEST(ReducerTrace, ShowsGradientsButNoBucketsUnderNoSync) {
  test::runRanksWell(2, [](auto group) {
    Recording recording;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 2});
    DistributedDataParallel ddp(net, group, options(recording));
    DistributedDataParallel::NoSync noSync(ddp);
    step(ddp, 0);
    const auto events = recording.lanes().at("ddp");
    EXPECT_EQ(events.size(), 2u);
    EXPECT_EQ(ofKind(events, EventKind::kGradientReady).size(), 2u);
  });
}

TEST(ReducerTrace, ShowsTheBroadcastOfBuffers) {
  test::runRanksWell(2, [](auto group) {
    Recording recording;
    auto net = std::make_shared<test::NormNet>();
    DistributedDataParallel ddp(net, group, options(recording));
    ddp.setStep(5);
    ddp.preForward();
    const auto events = recording.lanes().at("ddp");
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, static_cast<std::uint16_t>(EventKind::kBroadcastBuffers));
    EXPECT_EQ(events[0].step, 5u);
    EXPECT_GT(events[0].durationTicks, 0u);
  });
}

TEST(ReducerTrace, ShowsTheAllreduceOnTheHooksOwnLane) {
  test::runRanksWell(2, [](auto group) {
    Recording recording;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 2});
    DistributedDataParallel ddp(net, group, options(recording));
    EXPECT_STREQ(recording.tracer().lastWords().hook.data(), "allreduce");
    step(ddp, 3);
    const auto events = recording.lanes().at("hook");
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, static_cast<std::uint16_t>(EventKind::kHookCommunicate));
    EXPECT_EQ(events[0].value, 40u);
    EXPECT_EQ(events[0].step, 3u);
    EXPECT_GT(events[0].durationTicks, 0u);
  });
}

TEST(ReducerTrace, ReportsAGradientThatNobodyReducesOnce) {
  test::runRanksWell(1, [](auto group) {
    Recording recording;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 2});
    DistributedDataParallel ddp(net, group, options(recording));
    net->forward(at::ones({1, 4})).sum().backward();
    net->forward(at::ones({1, 4})).sum().backward();
    const auto messages = recording.messages();
    ASSERT_EQ(messages.size(), 3u);
    const auto& problem = std::get<trace::ProblemMessage>(messages[2]);
    EXPECT_EQ(problem.severity, "warning");
    EXPECT_THAT(problem.text, testing::HasSubstr("got a gradient outside a synchronised forward"));
  });
}

TEST(ReducerTrace, ShowsTheSearchForUnusedParametersAndTheirMap) {
  test::runRanksWell(2, [](auto group) {
    Recording recording;
    DdpOptions withSearch = options(recording);
    withSearch.findUnusedParameters = true;
    auto net = std::make_shared<test::TwoHeads>();
    DistributedDataParallel ddp(net, group, withSearch);
    ddp.setStep(5);
    auto output = ddp.run([&] { return net->left->forward(at::ones({1, 4})); });
    output.sum().backward();
    const auto events = recording.lanes()["ddp"];
    ASSERT_EQ(ofKind(events, EventKind::kSearchUnused).size(), 1u);
    EXPECT_EQ(ofKind(events, EventKind::kUsedMap).size(), 1u);
    const auto marked = ofKind(events, EventKind::kMarkedUnused);
    ASSERT_EQ(marked.size(), 2u);
    EXPECT_EQ(marked[0].value, 2u);
    EXPECT_EQ(marked[1].value, 3u);
    EXPECT_EQ(marked[1].step, 5u);
  });
}

std::size_t warningsOfAVainSearch(Recording& recording) {
  std::size_t warnings = 0;
  for (const trace::Message& message : recording.messages()) {
    const auto* problem = std::get_if<trace::ProblemMessage>(&message);
    warnings += problem != nullptr && problem->text.find(
                                          "find_unused_parameters is on, and every rank used every "
                                          "parameter in all ") != std::string::npos;
  }
  return warnings;
}

TEST(ReducerTrace, WarnsAtItsEndWhenEverySearchWasInVain) {
  test::runRanksWell(2, [](auto group) {
    Recording recording;
    DdpOptions withSearch = options(recording);
    withSearch.findUnusedParameters = true;
    {
      auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 2});
      DistributedDataParallel ddp(net, group, withSearch);
      step(ddp, 0);
      step(ddp, 1);
      EXPECT_EQ(warningsOfAVainSearch(recording), 0u) << "the next may leave one out";
    }
    EXPECT_EQ(warningsOfAVainSearch(recording), group->rank() == 0 ? 1u : 0u);
  });
}

TEST(ReducerTrace, DoesNotWarnOfASearchThatOneBackwardNeeded) {
  test::runRanksWell(2, [](auto group) {
    Recording recording;
    DdpOptions withSearch = options(recording);
    withSearch.findUnusedParameters = true;
    {
      auto net = std::make_shared<test::TwoHeads>();
      DistributedDataParallel ddp(net, group, withSearch);
      const at::Tensor x = at::ones({1, 4});
      for (int i = 0; i < 2; ++i) {
        ddp.run([&] { return net->left->forward(x) + net->right->forward(x); }).sum().backward();
      }
      ddp.run([&] { return net->left->forward(x); }).sum().backward();
    }
    EXPECT_EQ(warningsOfAVainSearch(recording), 0u);
  });
}

TEST(ReducerTrace, WarnsOnceOfAGraphOfGradients) {
  test::runRanksWell(1, [](auto group) {
    Recording recording;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 2});
    DistributedDataParallel ddp(net, group, options(recording));
    for (int i = 0; i < 2; ++i) {
      for (const auto& parameter : net->parameters()) {
        parameter.mutable_grad().reset();
      }
      ddp.forward<Net>(at::ones({1, 4})).sum().backward({}, {}, /*create_graph=*/true);
    }
    std::size_t warnings = 0;
    for (const trace::Message& message : recording.messages()) {
      const auto* problem = std::get_if<trace::ProblemMessage>(&message);
      warnings += problem != nullptr && problem->text.find(
                                            "a backward with create_graph: the averaged gradients "
                                            "carry no graph") != std::string::npos;
    }
    EXPECT_EQ(warnings, 1u);
    for (const auto& parameter : net->parameters()) {
      parameter.mutable_grad().reset();  // the graph would keep itself alive
    }
  });
}

TEST(LoggingData, KeepsTheErrorThatEndedTraining) {
  test::runRanksWell(1, [](auto group) {
    auto net = std::make_shared<test::TwoHeads>();
    DistributedDataParallel ddp(net, group);
    ddp.forward<test::TwoHeads>(at::ones({1, 4})).first.sum().backward();
    EXPECT_THROW(ddp.checkFinalized(), DdpError);
    const auto data = ddp.loggingData();
    EXPECT_EQ(data.at("has_error"), "1");
    EXPECT_THAT(data.at("error"), testing::HasSubstr("'right.weight' (2)"));
  });
}

TEST(LoggingData, HasPyTorchsNamesForConstructionAndRuntime) {
  test::runRanksWell(2, [](auto group) {
    Recording recording;
    auto net = std::make_shared<Net>(std::vector<std::int64_t>{4, 6, 2});
    DistributedDataParallel ddp(net, group, options(recording));
    auto data = ddp.loggingData();
    EXPECT_EQ(data["world_size"], "2");
    EXPECT_EQ(data["rank"], std::to_string(group->rank()));
    EXPECT_EQ(data["num_parameter_tensors"], "4");
    EXPECT_EQ(data["total_parameter_size_bytes"], std::to_string((24 + 6 + 12 + 2) * 4));
    EXPECT_EQ(data["dtypes"], "float32");
    EXPECT_EQ(data["bucket_sizes"], "176");
    EXPECT_EQ(data["bucket_cap_bytes"], "100");
    EXPECT_EQ(data["backend_name"], "loopback");
    EXPECT_EQ(data["comm_hook"], "allreduce");
    EXPECT_EQ(data["has_rebuilt_buckets"], "0");
    EXPECT_EQ(data["iteration"], "0");
    EXPECT_EQ(data.count("forward_compute_time"), 0u);

    for (std::uint32_t i = 0; i < 3; ++i) {
      step(ddp, i);
    }
    data = ddp.loggingData();
    EXPECT_EQ(data["iteration"], "3");
    EXPECT_EQ(data["has_rebuilt_buckets"], "1");
    EXPECT_EQ(data["rebuilt_per_bucket_param_indices"], "3 2, 1 0");
    EXPECT_EQ(data["rebuilt_bucket_sizes"], "56, 120");
    EXPECT_EQ(data["prev_iteration_grad_ready_order_indices"], "3, 2, 1, 0");
    EXPECT_EQ(data["bucket_sizes"], "176");
    EXPECT_EQ(data["can_set_static_graph"], "1");
    EXPECT_EQ(data["has_error"], "0");
    const auto number = [&](const char* key) { return std::stoll(data.at(key)); };
    EXPECT_LE(number("forward_compute_time_start"), number("backward_compute_time_start"));
    EXPECT_LE(number("backward_compute_time_start"), number("backward_comm_time_start"));
    EXPECT_LE(number("backward_comm_time_start"), number("backward_compute_time_end"));
    EXPECT_LE(number("backward_compute_time_end"), number("backward_comm_time_end"));
    EXPECT_GE(number("backward_comm_time"), number("backward_compute_comm_overlap_time"));
    EXPECT_GT(number("avg_forward_compute_time"), 0);
  });
}

}  // namespace
}  // namespace lockstep::ddp
