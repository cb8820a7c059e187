#include "engine/analysis/CallSequences.h"

#include <gtest/gtest.h>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::Operation;

// Number n of every rank from n * 10 to n * 10 + 5 ms.
void call(HandMadeRun& run, int rank, std::uint64_t number,
          Operation operation = Operation::kAllreduce, std::uint64_t bytes = 400,
          std::uint16_t bucket = 3) {
  run.addCollective(rank, number * 10'000, number * 10'000 + 5'000, number, 0, operation);
  run.spans.back().value = trace::packCollective(number, bytes);
  run.spans.back().bucket = bucket;
}

void queued(HandMadeRun& run, int rank, std::uint64_t number) {
  call(run, rank, number);
  run.spans.back().kind = EventKind::kCollectiveQueued;
  run.spans.back().durationTicks = 0;
}

CallSequence only(const HandMadeRun& run, bool complete = true) {
  const auto sequences = callSequences(run.data(), complete);
  EXPECT_EQ(sequences.size(), 1u);
  return sequences.empty() ? CallSequence() : sequences.front();
}

TEST(CallSequencesTest, LaysTheCallsOfAGroupSideBySide) {
  HandMadeRun run(2);
  call(run, 0, 1);
  call(run, 1, 1);
  call(run, 1, 2);
  call(run, 0, 2);
  const CallSequence sequence = only(run);
  EXPECT_EQ(sequence.ranks, (std::vector<int>{0, 1}));
  ASSERT_EQ(sequence.rows.size(), 2u);
  EXPECT_EQ(sequence.rows[1].sequence, 2u);
  EXPECT_EQ(sequence.callAt(1, 0)->id, 3);
  EXPECT_EQ(sequence.callAt(1, 1)->id, 2);
  EXPECT_FALSE(sequence.first.has_value());
  EXPECT_EQ(sequence.mismatches, 0u);
  EXPECT_EQ(describe(sequence, 0), "All ranks of the group made the same call.");
  EXPECT_TRUE(oddRanks(sequence, 0).empty());
}

TEST(CallSequencesTest, NamesTheOperationThatDiffers) {
  HandMadeRun run(3);
  for (int rank = 0; rank < 3; ++rank) {
    call(run, rank, 1);
    call(run, rank, 2, rank == 1 ? Operation::kBroadcast : Operation::kAllreduce);
  }
  const CallSequence sequence = only(run);
  ASSERT_EQ(sequence.first, 1u);
  EXPECT_EQ(sequence.rows[1].mismatch, CallMismatch::kOperation);
  EXPECT_EQ(oddRanks(sequence, 1), (std::vector<int>{1}));
  EXPECT_EQ(describe(sequence, 1),
            "Ranks 0, 2 called allreduce of 400 bytes; rank 1 called broadcast of 400 bytes.");
}

TEST(CallSequencesTest, TellsSizesAndBucketsThatDiffer) {
  HandMadeRun run(2);
  call(run, 0, 1, Operation::kAllreduce, 400);
  call(run, 1, 1, Operation::kAllreduce, 800);
  call(run, 0, 2, Operation::kAllreduce, 400, 0);
  call(run, 1, 2, Operation::kAllreduce, 400, 1);
  call(run, 0, 3, Operation::kAlltoall, 400);
  call(run, 1, 3, Operation::kAlltoall, 100);  // ranks may send each other different amounts
  const CallSequence sequence = only(run);
  EXPECT_EQ(sequence.rows[0].mismatch, CallMismatch::kSize);
  EXPECT_EQ(sequence.rows[1].mismatch, CallMismatch::kBucket);
  EXPECT_EQ(sequence.rows[2].mismatch, CallMismatch::kNone);
  EXPECT_EQ(sequence.mismatches, 2u);
  EXPECT_EQ(oddRanks(sequence, 0), (std::vector<int>{0, 1})) << "two have no majority";
  EXPECT_EQ(describe(sequence, 1),
            "Rank 0 called allreduce of 400 bytes for bucket 0; "
            "rank 1 called allreduce of 400 bytes for bucket 1.");
}

TEST(CallSequencesTest, HoldsAMissingCallAgainstARankThatWentOnOrEnded) {
  HandMadeRun run(3);
  for (int rank = 0; rank < 3; ++rank) {
    call(run, rank, 1);
    if (rank != 1) call(run, rank, 2);
    if (rank != 2) call(run, rank, 3);
  }
  const CallSequence sequence = only(run);
  EXPECT_EQ(sequence.rows[1].mismatch, CallMismatch::kMissing) << "rank 1 went on without";
  EXPECT_EQ(sequence.rows[2].mismatch, CallMismatch::kMissing) << "rank 2 ended before";
  EXPECT_EQ(sequence.first, 1u);
  EXPECT_EQ(oddRanks(sequence, 2), (std::vector<int>{2}));
  EXPECT_EQ(describe(sequence, 1), "Ranks 0, 2 called allreduce; rank 1 made no such call.");
  EXPECT_EQ(sequence.callAt(1, 1), nullptr);
}

TEST(CallSequencesTest, LeavesUndecidedWhatALiveRunMayStillBring) {
  HandMadeRun run(2);
  call(run, 0, 1);
  call(run, 1, 1);
  call(run, 0, 2);
  EXPECT_EQ(only(run, false).rows[1].mismatch, CallMismatch::kUnknown);
  EXPECT_FALSE(only(run, false).first.has_value());
  EXPECT_EQ(only(run, true).rows[1].mismatch, CallMismatch::kMissing);
  EXPECT_EQ(oddRanks(only(run, true), 1), (std::vector<int>{1})) << "who is missing";
  EXPECT_EQ(describe(only(run, false), 1), "Rank 0 called allreduce; rank 1 left no record.");
}

TEST(CallSequencesTest, LeavesUndecidedWhatWasDroppedOrNotRecorded) {
  HandMadeRun dropped(2);
  for (const std::uint64_t number : {1, 2, 3}) {
    call(dropped, 0, number);
  }
  call(dropped, 1, 1);
  call(dropped, 1, 3);
  dropped.add(1, EventKind::kGap, 21'000, 24'000, 0, 7);  // between its numbers 1 and 3
  EXPECT_EQ(only(dropped).rows[1].mismatch, CallMismatch::kUnknown);

  HandMadeRun late(2);  // the recording of rank 1 began one call later
  call(late, 0, 1);
  call(late, 0, 2);
  call(late, 1, 2);
  EXPECT_EQ(only(late).rows[0].mismatch, CallMismatch::kUnknown);

  HandMadeRun paused(2);  // capture was off from 3 to 7, on rank 1 one call earlier
  for (const std::uint64_t number : {1, 2, 8}) {
    call(paused, 0, number);
  }
  call(paused, 1, 1);
  call(paused, 1, 8);
  EXPECT_EQ(only(paused).rows[1].mismatch, CallMismatch::kUnknown);
}

TEST(CallSequencesTest, TellsACallThatOneRankNeverEnded) {
  HandMadeRun run(2);
  queued(run, 0, 1);
  queued(run, 1, 1);
  call(run, 0, 1);
  EXPECT_EQ(only(run, true).rows[0].mismatch, CallMismatch::kState);
  EXPECT_EQ(only(run, false).rows[0].mismatch, CallMismatch::kUnknown);
  EXPECT_EQ(describe(only(run, true), 0),
            "Rank 0 went through it; rank 1 began it and never ended it.");
  EXPECT_EQ(oddRanks(only(run, true), 0), (std::vector<int>{1}));
  call(run, 1, 1);
  EXPECT_EQ(only(run).rows[0].mismatch, CallMismatch::kNone);
  EXPECT_EQ(only(run).callAt(0, 1)->id, 3) << "what was carried out, and not that it was queued";
}

TEST(CallSequencesTest, OnlyARunThatWasRecordedToItsEndTellsWhatDidNotHappen) {
  trace::RunInfo info;
  info.state = trace::RunState::kFailed;
  EXPECT_TRUE(recordedToItsEnd(info));
  info.state = trace::RunState::kRecorderDied;
  EXPECT_FALSE(recordedToItsEnd(info)) << "the job may have gone on";
  info.state = trace::RunState::kRunning;
  EXPECT_FALSE(recordedToItsEnd(info));
  info.state = trace::RunState::kFinished;
  info.kind = trace::RunKind::kImported;
  EXPECT_FALSE(recordedToItsEnd(info)) << "a rank's dump may have been written earlier";
}

TEST(CallSequencesTest, KeepsGroupsAndChecksApartAndLeavesPairsOut) {
  HandMadeRun run(3);
  run.addCollective(0, 0, 1, 1, 0, Operation::kAllreduce, 5);
  run.addCollective(2, 0, 1, 1, 0, Operation::kAllreduce, 5);
  run.addCheck(0, 0, 1, 1);
  run.addCheck(1, 0, 1, 1);
  run.addCheck(2, 0, 1, 1);
  run.addCollective(0, 2, 3, 1, 0, Operation::kSend);
  run.addCollective(1, 2, 3, 1, 0, Operation::kRecv);
  const auto sequences = callSequences(run.data(), true);
  ASSERT_EQ(sequences.size(), 2u);
  EXPECT_TRUE(sequences[0].checks);
  EXPECT_EQ(sequences[1].group, 5);
  EXPECT_EQ(sequences[1].ranks, (std::vector<int>{0, 2})) << "rank 1 is not in the group";
  EXPECT_EQ(sequences[1].mismatches, 0u);
  EXPECT_FALSE(firstMismatch(sequences).has_value());
}

TEST(CallSequencesTest, TheFirstMismatchIsFirstInTimeAcrossGroups) {
  HandMadeRun run(2);
  call(run, 0, 4);
  run.addCollective(0, 1'000, 2'000, 9, 0, Operation::kAllreduce, 7);
  run.addCollective(1, 1'000, 2'000, 9, 0, Operation::kBarrier, 7);
  const auto sequences = callSequences(run.data(), true);
  ASSERT_EQ(sequences.size(), 2u);
  EXPECT_EQ(sequences[0].mismatches, 1u) << "rank 1 is in the default group and made no call";
  EXPECT_EQ(firstMismatch(sequences), 1u);
}

TEST(CallSequencesTest, NumbersGoOnBeyondTheirWrap) {
  HandMadeRun run(2);
  for (int rank = 0; rank < 2; ++rank) {
    run.addCollective(rank, 1'000, 2'000, 0xFFFFFF);
    run.addCollective(rank, 3'000, 4'000, 0);
  }
  const CallSequence sequence = only(run);
  ASSERT_EQ(sequence.rows.size(), 2u);
  EXPECT_EQ(sequence.rows[1].sequence, 0x1000000u);
  EXPECT_EQ(sequence.mismatches, 0u);
}

TEST(CallSequencesTest, SaysThatARankCalledForNoBucket) {
  HandMadeRun run(2);
  run.addCollective(0, 0, 5, 0);
  run.addCollective(1, 0, 5, 0);
  run.spans.back().bucket = trace::kNoBucket;
  const auto sequences = callSequences(run.data(), true);
  ASSERT_EQ(sequences.size(), 1u);
  EXPECT_EQ(describe(sequences[0], 0),
            "Rank 0 called allreduce of 400 bytes for bucket 3; rank 1 called allreduce of 400 "
            "bytes for no bucket.");
}

}  // namespace
}  // namespace lockstep::analysis
