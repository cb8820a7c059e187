// What a group tells the tracer.

#include <gmock/gmock.h>

#include <future>
#include <map>

#include "engine/trace/Event.h"
#include "tests/engine/process_group/Backends.h"
#include "tests/support/RankRecording.h"

namespace lockstep::process_group {
namespace {

using testing::Contains;

// Runs two ranks; rank 0 records.
void runRecorded(const std::string& backend, support::RankRecording& recorded,
                 const std::function<void(ProcessGroup&)>& body) {
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(2, [&](int rank) {
    GroupOptions options = quickOptions();
    options.tracer = rank == 0 ? &recorded.tracer() : nullptr;
    options.groupNumber = 0;
    auto made = makeProcessGroup(backend, store, rank, 2, options);
    ASSERT_TRUE(made.ok()) << made.error().message();
    body(*made.value());
  });
}

using Events = BackendTest;
LOCKSTEP_OVER_BACKENDS(Events);

TEST_P(Events, SayWhenACollectiveWasQueuedAndWhenItRan) {
  support::RankRecording recorded;
  const std::uint64_t before = base::ticks();
  runRecorded(backend(), recorded, [](ProcessGroup& group) {
    CallOptions options;
    options.bucket = 5;
    options.step = 17;
    group.allreduce({at::ones({100})}, ReduceOp::kSum, options)->wait();
  });
  const std::uint64_t after = base::ticks();
  auto lanes = recorded.lanes();
  const std::string prefix = backend() == "gloo" ? "gloo " : "shm ";
  ASSERT_EQ(lanes[prefix + "queue"].size(), 1u);
  const trace::Event queued = lanes[prefix + "queue"][0];
  EXPECT_EQ(queued.kind, static_cast<std::uint16_t>(trace::EventKind::kCollectiveQueued));
  EXPECT_EQ(queued.value, trace::packCollective(1, 400));
  EXPECT_EQ(queued.detail, trace::packOperation(trace::Operation::kAllreduce));
  std::vector<trace::Event> ran = lanes[prefix + "0"];
  ran.insert(ran.end(), lanes[prefix + "1"].begin(), lanes[prefix + "1"].end());
  ASSERT_EQ(ran.size(), 1u);
  EXPECT_EQ(ran[0].kind, static_cast<std::uint16_t>(trace::EventKind::kCollective));
  EXPECT_EQ(ran[0].value, queued.value);
  EXPECT_EQ(ran[0].detail, queued.detail);
  EXPECT_EQ(ran[0].bucket, 5);
  EXPECT_EQ(ran[0].step, 17u);
  EXPECT_GE(queued.startTicks, before);
  EXPECT_GE(ran[0].startTicks, queued.startTicks);
  EXPECT_LE(ran[0].startTicks + ran[0].durationTicks, after);
}

TEST_P(Events, CountWhatARankPutsOnTheWire) {
  support::RankRecording recorded;
  std::vector<std::uint64_t> sent;
  runRecorded(backend(), recorded, [&](ProcessGroup& group) {
    const auto step = [&](const std::function<ProcessGroup::WorkPtr()>& call) {
      call()->wait();
      if (group.rank() == 0) {
        sent.push_back(recorded.tracer().sentBytes());
      }
    };
    step([&] { return group.allreduce({at::ones({100})}); });        // whole block to the peer
    step([&] { return group.allreduce({at::ones({1'000'000})}); });  // 2S(n-1)/n = S
    step([&] { return group.broadcast({at::ones({10})}, 0); });
    step([&] { return group.broadcast({at::ones({10})}, 1); });
    step([&] { return group.reduce(at::ones({10}), 1); });
    step([&] { return group.barrier(); });
  });
  std::vector<std::uint64_t> steps;
  std::uint64_t last = 0;
  for (const std::uint64_t bytes : sent) {
    steps.push_back(bytes - last);
    last = bytes;
  }
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{400, 4'000'000, 40, 0, 40, 0}));
  EXPECT_EQ(recorded.segment().header().sentBytes.load(), last);
  EXPECT_EQ(recorded.segment().header().receivedBytes.load(), 400u + 4'000'000u + 40u);
}

TEST_P(Events, KeepTheOldestOpenOperationInTheLastWords) {
  support::RankRecording recorded;
  std::promise<void> seen;
  runRecorded(backend(), recorded, [&](ProcessGroup& group) {
    at::Tensor tensor = at::ones({1});
    trace::LastWords& words = recorded.tracer().lastWords();
    if (group.rank() == 0) {
      EXPECT_EQ(words.operation.load(), 0);
      CallOptions options;
      options.bucket = 9;
      const auto first = group.allreduce({tensor}, ReduceOp::kSum, options);
      const auto second = group.broadcast({tensor.clone()}, 0);
      EXPECT_EQ(words.operation.load(), static_cast<int>(trace::Operation::kAllreduce));
      EXPECT_EQ(words.bucket.load(), 9);
      EXPECT_EQ(words.sequence.load(), 1u);
      EXPECT_NE(words.sinceTicks.load(), 0u);
      seen.set_value();
      first->wait();
      second->wait();
      EXPECT_EQ(words.operation.load(), 0);
      EXPECT_EQ(words.bucket.load(), trace::kNoBucket);
    } else {
      seen.get_future().wait();
      group.allreduce({tensor})->wait();
      group.broadcast({tensor}, 0)->wait();
    }
  });
}

}  // namespace
}  // namespace lockstep::process_group
