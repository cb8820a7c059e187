#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/trace/Event.h"
#include "tests/engine/run/Changed.h"
#include "tests/ui/views/divergence/DivergentRun.h"
#include "ui/views/divergence/ParameterScene.h"
#include "ui/views/divergence/SequenceScene.h"

namespace lockstep::ui {
namespace {

using analysis::HandMadeRun;

std::string valueOf(const std::vector<Fact>& facts, const QString& name) {
  const auto found =
      std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.name == name; });
  return found == facts.end() ? "no such fact" : found->value.toStdString();
}

TEST(VerdictOfReplicas, SaysWhatWasComparedWhereAllAreEqual) {
  const Verdict verdict = verdictOf(*test::factsOfRun(test::replicas(42, 3, 99, 0)));
  EXPECT_EQ(verdict.more.toStdString(), "3 parameters hashed on 2 ranks at 42 iterations. ");
}

// A live run, or one that was killed: rank 1 has not left the two newest samples.
TEST(VerdictOfReplicas, CountsNoIterationAsEqualThatNotAllRanksHashed) {
  analysis::RunData data = test::replicas(5, 3, 99, 0);
  run::dropIf(data.fingerprints, [](const auto& row) { return row.rank == 1 && row.step >= 30; });
  const Verdict verdict = verdictOf(*test::factsOfRun(data));
  EXPECT_EQ(verdict.title.toStdString(), "All ranks equal for 20 iterations");
  EXPECT_EQ(verdict.more.toStdString(), "3 parameters hashed on 2 ranks at 3 iterations. ");
  test::addFingerprint(data, 2, 40, 0, 100);
  const Verdict none = verdictOf(*test::factsOfRun(data));
  EXPECT_EQ(none.title, "No iteration was hashed on all ranks");
  EXPECT_EQ(none.more, "Where two or more can be compared, they were equal. ");
  EXPECT_EQ(none.kind, Verdict::Kind::kUnknown);
}

TEST(VerdictOfReplicas, SaysThatTheRankThatDiffersStandsAgainstTheMajority) {
  analysis::RunData data = test::replicas(4, 1, 2, 0);
  for (const std::uint32_t step : {0u, 10u, 20u, 30u}) {
    test::addFingerprint(data, 2, step, 0, 100);
  }
  EXPECT_TRUE(verdictOf(*test::factsOfRun(data))
                  .more.startsWith("parameter 0 on rank 1 against the majority. "))
      << verdictOf(*test::factsOfRun(data)).more.toStdString();
}

// Sample 2 differs and sample 3 is equal again: from there on would be too much said.
TEST(VerdictOfReplicas, AccusesNeitherOfTwoRanksThatDiffer) {
  const Verdict verdict = verdictOf(*test::factsOfRun(test::replicas(4, 3, 2, 1)));
  EXPECT_EQ(verdict.title.toStdString(), "Replicas differ, first seen at iteration 20");
  EXPECT_EQ(verdict.more.toStdString(),
            "parameter 1 on rank 1 against rank 0; which of them is wrong the hashes cannot tell. "
            "Last seen equal at iteration 10. ");
}

TEST(VerdictOfReplicas, CountsFurtherParameters) {
  analysis::RunData data = test::replicas(2, 3, 1, 0);
  run::changeEach(data.fingerprints, [](trace::FingerprintRow& row) {
    row.hash += row.rank == 1 && row.step == 10 && row.parameter == 2 ? 1 : 0;
  });
  EXPECT_TRUE(
      verdictOf(*test::factsOfRun(data)).more.startsWith("parameter 0 and 1 more on rank 1"));
}

TEST(VerdictOfReplicas, TellsOneRanksFingerprintsFromThoseThatNeverMeet) {
  analysis::RunData data;
  data.tracks = {{0, 0, "step"}, {1, 1, "step"}};
  test::addFingerprint(data, 0, 10, 0, 1);
  const Verdict alone = verdictOf(*test::factsOfRun(data));
  EXPECT_EQ(alone.title, "There is nothing to compare");
  EXPECT_EQ(alone.more, "Fingerprints of one rank alone are in this run. ");
  test::addFingerprint(data, 1, 20, 0, 1);
  const auto facts = test::factsOfRun(data);
  EXPECT_EQ(verdictOf(*facts).more, "No two ranks left fingerprints of one iteration. ");
  EXPECT_EQ(valueOf(factsOf(*facts, ReplicaPlace{0, 0}), "Replicas"),
            "not compared: fewer than two ranks left a hash");
}

TEST(VerdictOfReplicas, NamesTheFirstGradientAndLossThatAreNoFiniteNumbers) {
  analysis::RunData data = test::replicas(4, 1, 9, 0);
  for (std::uint32_t step = 0; step < 30; ++step) {
    data.losses.push_back({0, 1, "loss", step, 0, step == 17 ? HUGE_VAL : 1.0});
  }
  trace::GradientRow gradient;
  gradient.rank = 1;
  gradient.step = 16;
  gradient.gradients.bucket = 0;
  gradient.gradients.nans = 3;
  data.gradients.push_back(gradient);
  const Verdict verdict = verdictOf(*test::factsOfRun(data));
  EXPECT_EQ(verdict.title.toStdString(),
            "Not everything is a finite number, first seen at iteration 16");
  EXPECT_TRUE(verdict.more.contains(
      "Gradients of rank 1 held NaN in iteration 16, before they were averaged. "))
      << verdict.more.toStdString();
  EXPECT_TRUE(
      verdict.more.contains("The loss of rank 1 was no finite number, first in iteration 17. "))
      << verdict.more.toStdString();
}

TEST(VerdictOfReplicas, SaysThatADriftIsOverWhereTheyWereEqualAgain) {
  analysis::RunData data = test::replicas(4, 1, 2, 0);
  for (int rank = 0; rank < 2; ++rank) {
    data.sketches.push_back({0, rank, 30, std::vector<double>(16, 1.0)});
  }
  const auto facts = test::factsOfRun(data, true, "post_local_sgd");
  EXPECT_TRUE(verdictOf(*facts).more.contains("At iteration 30 they were equal again. "))
      << verdictOf(*facts).more.toStdString();
  EXPECT_EQ(valueOf(factsOf(*facts, ReplicaPlace{2, 0}), "Replicas"),
            "apart, by design of the hook");
  EXPECT_EQ(valueOf(factsOf(*facts, ReplicaPlace{1, 0}), "Replicas"), "equal on all ranks");
}

// The sketch of rank 1 at the last sample is not there; those of sample 1 are from before the
// drift.
TEST(VerdictOfReplicas, SaysHowFarADriftWentOnlyWhereAllRanksAreKnown) {
  analysis::RunData data = test::replicas(4, 1, 2, 0);
  for (int rank = 0; rank < 2; ++rank) {
    data.sketches.push_back({0, rank, 10, std::vector<double>(16, 1.0)});
  }
  data.sketches.push_back({0, 0, 30, std::vector<double>(16, 1.0)});
  const auto more = [&data] {
    return verdictOf(*test::factsOfRun(data, true, "post_local_sgd")).more.toStdString();
  };
  EXPECT_EQ(more(), "First seen apart at iteration 20. ");
  for (int rank = 0; rank < 2; ++rank) {
    data.sketches.push_back({0, rank, 20, std::vector<double>(16, rank)});
  }
  EXPECT_EQ(more(),
            "First seen apart at iteration 20. At iteration 20 they were 2.00 from their mean "
            "(Euclidean, root mean square over ranks; ± 18 %). ");
}

TEST(VerdictOfReplicas, SaysWhatSamplingCost) {
  analysis::RunData data = test::replicas(4, 1, 9, 0);
  HandMadeRun run(2);
  run.add(0, trace::EventKind::kStep, 0, 10'000, 0);
  run.add(0, trace::EventKind::kFingerprint, 0, 100, 0);
  data.spans = run.data().spans;
  data.tracks = run.tables.tracks;
  EXPECT_TRUE(
      verdictOf(*test::factsOfRun(data)).more.endsWith("Sampling took 1.00 % of the step time."))
      << verdictOf(*test::factsOfRun(data)).more.toStdString();
}

TEST(FactsOfACell, LeaveOutRanksBeyondTheEighthAndNormsThatAreNotFinite) {
  analysis::RunData data;
  for (int rank = 0; rank < 11; ++rank) {
    data.tracks.push_back({rank, rank, "step"});
    test::addFingerprint(data, rank, 0, 0, 1, rank == 0 ? HUGE_VAL : 1.0);
  }
  const std::vector<Fact> facts = factsOf(*test::factsOfRun(data), ReplicaPlace{0, 0});
  EXPECT_EQ(facts.back().value, "and 3 more ranks");
  run::dropIf(data.fingerprints, [](const auto& row) { return row.rank > 8; });
  EXPECT_EQ(factsOf(*test::factsOfRun(data), ReplicaPlace{0, 0}).back().value, "and 1 more rank");
  EXPECT_EQ(valueOf(facts, "Rank 0").substr(0, 14), "no finite norm");
}

TEST(SummaryOfCalls, NamesTheFirstMismatch) {
  HandMadeRun run(2);
  for (std::uint64_t number = 0; number < 9; ++number) {
    for (int rank = 0; rank < 2; ++rank) {
      run.addCollective(
          rank, 10 * number, 10 * number + 5, number, 0,
          rank == 1 && number == 7 ? trace::Operation::kBroadcast : trace::Operation::kAllreduce);
    }
  }
  const auto facts = test::factsOfRun(run.data());
  EXPECT_TRUE(summaryOf(facts->sequences[0])
                  .startsWith("First mismatch: number 7, operation mismatch. Rank"))
      << summaryOf(facts->sequences[0]).toStdString();
}

// Rank 1 has made four calls, and may make the fifth: that it matches is not known.
TEST(SummaryOfCalls, DoesNotSayThatAllMatchWhereARecordMayStillCome) {
  HandMadeRun run(2);
  for (std::uint64_t number = 0; number < 5; ++number) {
    run.addCollective(0, 10 * number, 10 * number + 5, number);
    if (number < 4) {
      run.addCheck(0, 10 * number, 10 * number + 1, number);
      run.addCheck(1, 10 * number, 10 * number + 1, number);
      run.addCollective(1, 10 * number, 10 * number + 5, number);
    }
  }
  const auto facts = test::factsOfRun(run.data(), false);
  ASSERT_EQ(facts->sequences.size(), 2u);
  EXPECT_EQ(summaryOf(facts->sequences[0]),
            "No mismatch is known in 5 calls; of 1 a record is missing");
  EXPECT_EQ(summaryOf(facts->sequences[1]), "All 4 calls match");
  EXPECT_EQ(nameOf(facts->sequences[1]), "checks of group 0");
}

// A dump that a rank wrote earlier than the others holds fewer calls.
TEST(SummaryOfCalls, DoesNotAccuseARankOfAnImportedJobWhoseRecordEndsEarlier) {
  HandMadeRun made(2);
  for (std::uint64_t number = 0; number < 5; ++number) {
    made.addCollective(0, 10 * number, 10 * number + 5, number);
    if (number < 4) {
      made.addCollective(1, 10 * number, 10 * number + 5, number);
    }
  }
  auto run = std::make_shared<AnalysedRun>();
  run->data = made.data();
  run->analysis = analysis::analyse(run->data);
  const auto summary = [&](trace::RunKind kind) {
    trace::RunUpdate update;
    update.info.emplace();
    update.info->state = trace::RunState::kFinished;
    update.info->kind = kind;
    RunModel model;
    model.applyUpdate(std::move(update));
    const auto facts = divergenceFacts(factsInput(model, run));
    return summaryOf(facts->sequences.at(0)).toStdString();
  };
  EXPECT_EQ(summary(trace::RunKind::kImported),
            "No mismatch is known in 5 calls; of 1 a record is missing");
  EXPECT_EQ(summary(trace::RunKind::kObserved),
            "First mismatch: number 4, missing rank. Rank 0 called allreduce; rank 1 made no such "
            "call.");
}

TEST(FactsOfACall, SayThatItWasBegunAndNotEnded) {
  HandMadeRun run(2);
  run.addCollective(0, 0, 5, 0);
  run.addCollective(1, 0, 5, 0);
  run.spans.back().kind = trace::EventKind::kCollectiveQueued;
  const auto facts = test::factsOfRun(run.data());
  EXPECT_EQ(valueOf(factsOf(*facts, facts->sequences[0], CallPlace{0, 1}), "Took"),
            "begun, not ended");
}

}  // namespace
}  // namespace lockstep::ui
