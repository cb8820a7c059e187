#include "engine/launch/Verdict.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <utility>
#include <vector>

namespace lockstep::launch {
namespace {

using base::ExitCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using trace::RunState;

RankEnd finished(int rank, int order) {
  RankEnd end;
  end.rank = rank;
  end.order = order;
  end.words.finished = true;
  end.words.lastIn = "in iteration 7";
  end.words.diedIn = "12 ms into iteration 7";
  return end;
}

RankEnd exited(int rank, int order, ExitCode code) {
  RankEnd end = finished(rank, order);
  end.words.finished = false;
  end.end.exitCode = static_cast<int>(code);
  return end;
}

/// A rank whose error finds others, or itself, at fault.
RankEnd telling(int rank, int order, trace::Fault fault, std::vector<int> culprits,
                ExitCode code = ExitCode::kCommFailed) {
  RankEnd end = exited(rank, order, code);
  end.words.fault = fault;
  end.words.culprits = std::move(culprits);
  return end;
}

RankEnd signalled(int rank, int order, int signal, bool byUs) {
  RankEnd end = exited(rank, order, ExitCode::kOk);
  end.end.signal = signal;
  end.killedByUs = byUs;
  return end;
}

TEST(VerdictTest, FindsNothingWhenEveryRankFinished) {
  const auto verdict = judge({finished(0, 1), finished(1, 0)});
  EXPECT_EQ(verdict.state, RunState::kFinished);
  EXPECT_EQ(verdict.exitCode, ExitCode::kOk);
  EXPECT_THAT(verdict.failure, IsEmpty());
}

TEST(VerdictTest, BlamesTheSignalBeforeThePeersWhoseCollectivesFailedFirst) {
  const auto verdict = judge({exited(0, 0, ExitCode::kCommFailed), signalled(1, 2, SIGKILL, false),
                              exited(2, 1, ExitCode::kBadInput)});
  EXPECT_EQ(verdict.exitCode, ExitCode::kRankKilled);
  EXPECT_EQ(verdict.rank, 1);
  EXPECT_THAT(verdict.failure, StartsWith("rank 1 was ended by SIGKILL 12 ms into iteration 7"));
}

TEST(VerdictTest, BlamesAHostThatWasLostBeforeThePeersWhoseCollectivesFailed) {
  RankEnd lost = exited(2, 1, ExitCode::kOk);
  lost.lost = "host b (10.0.0.2) with ranks 2, 3 is lost: nothing was heard from it for 15 s";
  const auto verdict = judge({exited(0, 0, ExitCode::kCommFailed), lost});
  EXPECT_EQ(verdict.exitCode, ExitCode::kCommFailed);
  EXPECT_EQ(verdict.rank, 2);
  EXPECT_THAT(verdict.failure, AllOf(StartsWith("rank 2 was lost, last seen in iteration 7: "),
                                     HasSubstr("host b (10.0.0.2) with ranks 2, 3 is lost")));
}

TEST(VerdictTest, BlamesAnErrorOfARanksOwnBeforeAFailedCollective) {
  const auto verdict =
      judge({exited(0, 0, ExitCode::kCommFailed), exited(1, 1, ExitCode::kHookFailed)});
  EXPECT_EQ(verdict.exitCode, ExitCode::kHookFailed);
  EXPECT_EQ(verdict.rank, 1);
}

TEST(VerdictTest, BlamesTheFirstOfEquals) {
  EXPECT_EQ(judge({exited(0, 1, ExitCode::kCommFailed), exited(1, 0, ExitCode::kCommFailed)}).rank,
            1);
}

TEST(VerdictTest, NamesTheSuspendedRankThatTheOthersWaitedFor) {
  RankEnd suspended = signalled(1, 1, SIGKILL, true);
  suspended.wasSuspended = true;
  const auto verdict = judge({exited(0, 0, ExitCode::kCommFailed), suspended});
  EXPECT_EQ(verdict.exitCode, ExitCode::kCommFailed);
  EXPECT_EQ(verdict.rank, 1);
  EXPECT_THAT(verdict.failure,
              AllOf(StartsWith("rank 1 was suspended (SIGSTOP) and was killed, in iteration 7"),
                    HasSubstr("; rank 0 failed (exit code 4)")));
}

TEST(VerdictTest, NamesWhoMadeAnotherCallBeforeWhoToldOfIt) {
  const auto verdict = judge({exited(0, 1, ExitCode::kCommFailed),
                              telling(1, 2, trace::Fault::kOtherCall, {1}),
                              telling(2, 0, trace::Fault::kOtherCall, {1})});
  EXPECT_EQ(verdict.rank, 1);
  EXPECT_EQ(verdict.exitCode, ExitCode::kCommFailed);
  EXPECT_THAT(verdict.failure,
              AllOf(StartsWith("rank 1 made another call than the other ranks, in iteration 7; "),
                    HasSubstr("; rank 2 failed (exit code 4)")));
}

TEST(VerdictTest, NamesBothWhereNoMajorityTellsWhoWasWrong) {
  const auto verdict = judge({telling(0, 1, trace::Fault::kOtherCall, {0, 1}),
                              telling(1, 0, trace::Fault::kOtherCall, {0, 1})});
  EXPECT_THAT(verdict.failure, StartsWith("ranks 0, 1 did not make the same call, and no "
                                          "majority tells which was wrong; rank 1 failed"));
}

// Only rank 0 has compared the calls: rank 1 had ended before it could.
TEST(VerdictTest, NamesBothWhereOneAloneToldThatNoMajorityTells) {
  EXPECT_THAT(
      judge({telling(0, 0, trace::Fault::kOtherCall, {0, 1}), exited(1, 1, ExitCode::kCommFailed)})
          .failure,
      StartsWith("ranks 0, 1 did not make the same call, and no majority tells which "
                 "was wrong; rank 0 failed"));
  EXPECT_THAT(judge({telling(0, 0, trace::Fault::kOtherModel, {0, 1}, ExitCode::kBadInput),
                     signalled(1, 1, SIGKILL, true)})
                  .failure,
              StartsWith("ranks 0, 1 did not build the same model and settings, and no majority "
                         "tells which was wrong; rank 0 failed"));
}

TEST(VerdictTest, NamesAMinorityThatMadeOtherCalls) {
  std::vector<RankEnd> ends;
  for (int rank = 0; rank < 5; ++rank) {
    ends.push_back(telling(rank, rank, trace::Fault::kOtherCall, {3, 4}));
  }
  EXPECT_THAT(judge(ends).failure,
              StartsWith("ranks 3, 4 made other calls than most ranks; rank 0 failed"));
}

TEST(VerdictTest, GoesByWhomMostErrorsFindAtFault) {
  const auto verdict = judge({telling(0, 2, trace::Fault::kOtherCall, {1}),
                              telling(1, 1, trace::Fault::kOtherCall, {1, 2}),
                              telling(2, 0, trace::Fault::kOtherCall, {1, 2})});
  EXPECT_EQ(verdict.rank, 1) << "rank 2 had not heard rank 0 yet";
}

TEST(VerdictTest, NamesWhomAllWaitedForAndNotWhoWaitedInTurn) {
  const auto verdict = judge({telling(0, 0, trace::Fault::kDidNotCome, {1}),
                              telling(1, 1, trace::Fault::kDidNotCome, {2}),
                              signalled(2, 2, SIGKILL, true)});
  EXPECT_EQ(verdict.rank, 2);
  EXPECT_THAT(verdict.failure,
              AllOf(StartsWith("rank 2 did not come to what was waited for, in iteration 7; rank 1 "
                               "failed"),
                    HasSubstr("; rank 2 did not end by itself and was killed")));
}

TEST(VerdictTest, NamesWhoLeftInOrderWhileItWasNeeded) {
  EXPECT_THAT(judge({telling(0, 1, trace::Fault::kGone, {1}), finished(1, 0)}).failure,
              StartsWith("rank 1 had finished and left while it was still needed; rank 0 failed"));
}

TEST(VerdictTest, DoesNotBlameARankForLeavingThatHadFailedItself) {
  const auto verdict = judge({telling(0, 1, trace::Fault::kGone, {1}),
                              telling(1, 0, trace::Fault::kDidNotCome, {2}),
                              finished(2, 2)});
  EXPECT_EQ(verdict.rank, 2);
}

TEST(VerdictTest, NamesWhoBuiltAnotherModel) {
  std::vector<RankEnd> ends;
  for (int rank = 0; rank < 3; ++rank) {
    ends.push_back(telling(rank, rank, trace::Fault::kOtherModel, {2}, ExitCode::kBadInput));
  }
  const auto verdict = judge(ends);
  EXPECT_EQ(verdict.rank, 2);
  EXPECT_EQ(verdict.exitCode, ExitCode::kBadInput);
  EXPECT_THAT(verdict.failure, StartsWith("rank 2 built another model, or has other settings, than "
                                          "the other ranks; rank 0 failed"));
}

TEST(VerdictTest, NamesBothWhereNoMajorityTellsWhoseModelWasWrong) {
  std::vector<RankEnd> ends;
  for (int rank = 0; rank < 2; ++rank) {
    ends.push_back(telling(rank, rank, trace::Fault::kOtherModel, {0, 1}, ExitCode::kBadInput));
  }
  EXPECT_THAT(judge(ends).failure,
              StartsWith("ranks 0, 1 did not build the same model and settings, and no majority "
                         "tells which was wrong; rank 0 failed"));
}

TEST(VerdictTest, NamesWhoRanOutOfInputsAndTheRemedy) {
  RankEnd early = telling(1, 1, trace::Fault::kOtherCall, {0, 1});
  early.words.inputsEnded = true;
  const auto verdict = judge({telling(0, 0, trace::Fault::kOtherCall, {0, 1}), early});
  EXPECT_EQ(verdict.rank, 1);
  EXPECT_THAT(verdict.failure,
              AllOf(StartsWith("rank 1 ran out of inputs before the others, in iteration 7: set "
                               "ddp.join = true, which answers the others until they are done, or "
                               "give every rank the same number"),
                    HasSubstr("; rank 0 failed (exit code 4)")));
}

TEST(VerdictTest, CountsAnEarlyExitWithCodeZeroAsAFailure) {
  const auto verdict = judge({exited(0, 0, ExitCode::kOk), finished(1, 1)});
  EXPECT_EQ(verdict.exitCode, ExitCode::kUnexpected);
  EXPECT_THAT(verdict.failure, HasSubstr("before its work was done"));
}

TEST(VerdictTest, GivesTheReasonTheRankGaveOrElseItsLastLineOnStderr) {
  RankEnd end = exited(0, 0, ExitCode::kEnvironment);
  end.lastErrorLine = "libfoo.so: cannot open";
  EXPECT_THAT(describe(end), HasSubstr(": libfoo.so: cannot open"));
  end.words.error = "no such device";
  EXPECT_THAT(describe(end), HasSubstr(": no such device"));
}

TEST(VerdictTest, CallsAnUnknownExitCodeUnexpected) {
  EXPECT_EQ(judge({exited(0, 0, static_cast<ExitCode>(127))}).exitCode, ExitCode::kUnexpected);
}

}  // namespace
}  // namespace lockstep::launch
