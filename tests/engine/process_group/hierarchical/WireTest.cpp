// What a hierarchical group tells the tracer: one span an operation, and what crosses hosts.

#include <gmock/gmock.h>

#include "engine/trace/Event.h"
#include "tests/engine/process_group/hierarchical/HostThreads.h"
#include "tests/support/RankRecording.h"

namespace lockstep::process_group {
namespace {

using Tensors = std::vector<at::Tensor>;

Tensors perRank(const ProcessGroup& group, std::int64_t elements) {
  Tensors tensors;
  for (int rank = 0; rank < group.size(); ++rank) {
    tensors.push_back(at::ones({elements}));
  }
  return tensors;
}

/// Bytes that each rank puts on the wire in each of the calls.
std::vector<std::vector<std::uint64_t>> wireBytes(
    const std::vector<int>& hosts,
    const std::vector<std::function<ProcessGroup::WorkPtr(ProcessGroup&)>>& calls) {
  std::vector<trace::Tracer> tracers(hosts.size());
  std::vector<trace::Tracer*> pointers;
  for (trace::Tracer& tracer : tracers) {
    pointers.push_back(&tracer);
  }
  std::vector<std::vector<std::uint64_t>> sent(hosts.size());
  runOnHosts(
      hosts,
      [&](ProcessGroup& group) {
        const auto rank = static_cast<std::size_t>(group.rank());
        std::uint64_t before = 0;
        for (const auto& call : calls) {
          call(group)->wait();
          const std::uint64_t now = tracers[rank].sentBytes();
          sent[rank].push_back(now - before);
          before = now;
        }
      },
      quickOptions(), "hierarchical", pointers);
  return sent;
}

// Two hosts of two ranks; S = 4000 bytes.
TEST(HierarchicalWire, EvenHostsSendWhatTheFormulasSay) {
  const auto sent = wireBytes(
      {0, 0, 1, 1},
      {[](ProcessGroup& group) { return group.allreduce({at::ones({1000})}); },
       [](ProcessGroup& group) { return group.allreduce({at::ones({1'000'000})}); },
       [](ProcessGroup& group) { return group.broadcast({at::ones({1000})}, 1); },
       [](ProcessGroup& group) { return group.reduce(at::ones({1000}), 1); },
       [](ProcessGroup& group) { return group.allgather(perRank(group, 1000), at::ones({1000})); },
       [](ProcessGroup& group) {
         return group.reduceScatter(at::ones({1000}), perRank(group, 1000));
       },
       [](ProcessGroup& group) { return group.alltoall(at::ones({1000}), at::ones({1000})); },
       [](ProcessGroup& group) { return group.barrier(); }});
  // Shards of S/2: whole to the peer when small, 2 (S/2) (m-1)/m when large. Broadcast and reduce:
  // one copy, by the rank with the root's place. Allgather and reduce-scatter: S to the other
  // host. Alltoall: half of it is for the other host.
  using testing::ElementsAre;
  EXPECT_THAT(sent[0], ElementsAre(2000, 2'000'000, 0, 0, 4000, 4000, 2000, 0));
  EXPECT_THAT(sent[1], ElementsAre(2000, 2'000'000, 4000, 0, 4000, 4000, 2000, 0));
  EXPECT_THAT(sent[2], ElementsAre(2000, 2'000'000, 0, 0, 4000, 4000, 2000, 0));
  EXPECT_THAT(sent[3], ElementsAre(2000, 2'000'000, 0, 4000, 4000, 4000, 2000, 0));
}

// Hosts of one and two ranks: only the first rank of each sends, but for what is flat.
TEST(HierarchicalWire, UnevenHostsSendByTheirFirstRanks) {
  const auto sent = wireBytes(
      {0, 1, 1},
      {[](ProcessGroup& group) { return group.allreduce({at::ones({1000})}); },
       [](ProcessGroup& group) { return group.broadcast({at::ones({1000})}, 2); },
       [](ProcessGroup& group) { return group.reduce(at::ones({1000}), 2); },
       [](ProcessGroup& group) { return group.allgather(perRank(group, 1000), at::ones({1000})); },
       [](ProcessGroup& group) {
         return group.reduceScatter(at::ones({1000}), perRank(group, 1000));
       },
       [](ProcessGroup& group) {
         return group.gather(group.rank() == 2 ? perRank(group, 1000) : Tensors{}, at::ones({1000}),
                             2);
       }});
  using testing::ElementsAre;
  EXPECT_THAT(sent[0], ElementsAre(4000, 0, 4000, 4000, 8000, 4000));
  EXPECT_THAT(sent[1], ElementsAre(4000, 4000, 0, 8000, 4000, 0));
  EXPECT_THAT(sent[2], ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(HierarchicalEvents, AreOneSpanAnOperation) {
  support::RankRecording recorded;
  runOnHosts({0, 0, 1},
             [](ProcessGroup& group) {
               CallOptions options;
               options.bucket = 5;
               options.step = 17;
               group.allreduce({at::ones({100})}, ReduceOp::kSum, options)->wait();
             },
             quickOptions(), "hierarchical", {&recorded.tracer(), nullptr, nullptr});
  auto lanes = recorded.lanes();
  ASSERT_EQ(lanes["hier queue"].size(), 1u);
  EXPECT_EQ(lanes["hier queue"][0].kind,
            static_cast<std::uint16_t>(trace::EventKind::kCollectiveQueued));
  ASSERT_EQ(lanes["hier 0"].size(), 1u);
  const trace::Event ran = lanes["hier 0"][0];
  EXPECT_EQ(ran.kind, static_cast<std::uint16_t>(trace::EventKind::kCollective));
  EXPECT_EQ(ran.value, trace::packCollective(1, 400));
  EXPECT_EQ(ran.bucket, 5);
  EXPECT_EQ(ran.step, 17u);
  EXPECT_GE(ran.startTicks, lanes["hier queue"][0].startTicks);
  for (const auto& [lane, events] : lanes) {
    EXPECT_TRUE(lane.rfind("hier ", 0) == 0 || events.empty()) << lane;
  }
  EXPECT_EQ(recorded.tracer().lastWords().operation.load(), 0);
}

}  // namespace
}  // namespace lockstep::process_group
