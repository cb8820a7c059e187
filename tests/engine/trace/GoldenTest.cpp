#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/trace/Event.h"
#include "engine/trace/UserPhases.h"
#include "tests/engine/trace/RunFileSupport.h"
#include "tests/golden/GoldenRun.h"

namespace lockstep::trace {
namespace {

/// A copy of the file users of a version have; the original is never opened.
class GoldenTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { take(GetParam()); }

  void take(const std::string& version) {
    std::filesystem::copy_file(
        std::filesystem::path(LOCKSTEP_GOLDEN) / ("run-" + version + ".lockstep"), path_);
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "run.lockstep";
};

TEST_P(GoldenTest, OpensWithItsFacts) {
  const RunUpdate run = readAll(*openRun(path_));
  EXPECT_EQ(run.info->runId, "golden-" + GetParam());
  const RunState end = GetParam() < "1.4" ? RunState::kFinished : RunState::kDiverged;
  EXPECT_EQ(run.info->state, end) << "ended runs stay ended on another host";
  EXPECT_EQ(run.info->worldSize, 2);
  EXPECT_EQ(run.info->environment.at("libtorch"), "1.13.1");
  ASSERT_EQ(run.ranks->size(), 2);
  EXPECT_EQ(run.ranks->at(1).exitCode, 0);
  EXPECT_EQ(run.ranks->at(1).eventsDropped, 3);
  EXPECT_EQ(run.ranks->at(1).parameterHash, "00112233445566aa");
  EXPECT_EQ(run.ranks->at(0).environment.at("threads"), "1");
  ASSERT_EQ(run.tracks->size(), 4);
  EXPECT_EQ(run.tracks->at(3).name, "gloo 0");
  EXPECT_EQ(run.clock->toNs(10'002'000), 7'000'001'000);
}

TEST_P(GoldenTest, OpensWithItsModel) {
  const RunUpdate run = readAll(*openRun(path_));
  ASSERT_EQ(run.parameters->size(), 2);
  EXPECT_EQ(run.parameters->at(0).name, "fc.weight");
  EXPECT_EQ(run.parameters->at(0).shape, (std::vector<std::int64_t>{10, 20}));
  ASSERT_EQ(run.layouts->size(), 2);
  EXPECT_EQ(run.layouts->at(0).buckets.at(0).offsets, (std::vector<std::uint64_t>{0, 64}));
  EXPECT_EQ(run.layouts->at(1).step, 1);
  EXPECT_EQ(run.layouts->at(1).buckets.at(1).limitBytes, 25 << 20);
}

TEST_P(GoldenTest, OpensWithItsRows) {
  const RunUpdate run = readAll(*openRun(path_));
  // A shaped span and a fault; a wait for a core; a phase of the user's own.
  const std::string version = GetParam();
  const std::size_t more = version == "1.0" ? 0 : version < "1.4" ? 2 : version < "1.5" ? 3 : 4;
  const std::size_t packed = version < "1.8" ? 0 : 2;  // steps, which come first
  ASSERT_EQ(run.spans.size(), 2 * 3 * 7 + 1 + more + packed);
  const SpanRow& collective = run.spans.at(3 + packed);
  EXPECT_EQ(collective.kind, EventKind::kCollective);
  EXPECT_EQ(collective.startTicks, 10'550'000);
  EXPECT_EQ(collective.durationTicks, 200'000);
  EXPECT_EQ(collective.bucket, 1);
  EXPECT_EQ(operationOf(collective.detail), Operation::kAllreduce);
  EXPECT_EQ(collectiveSequence(collective.value), 1);
  EXPECT_EQ(collectiveBytes(collective.value), 40);
  EXPECT_EQ(run.spans.back().kind, EventKind::kGap);
  EXPECT_EQ(run.spans.back().value, 3);
  ASSERT_EQ(run.metrics.size(), 7);
  EXPECT_EQ(run.metrics.back().name, "test_accuracy");
  EXPECT_EQ(run.log.at(0).text, "two ranks started");
  EXPECT_EQ(run.problems.at(0).text, "3 events were dropped");
  const RunSummary summary = readRunSummary(path_).value();
  EXPECT_EQ(summary.lastStep, 2 + packed);
  EXPECT_EQ(summary.lastMetrics.at("test_accuracy"), 0.75);
}

TEST_P(GoldenTest, AnswersSqlByItsViews) {
  EXPECT_EQ(query(path_,
                  "SELECT rank, sequence, bytes, start_ns, duration_ns FROM collectives "
                  "WHERE step = 2 AND bucket = 1"),
            "0|5|40|7001275000|100000\n1|5|40|7001275000|100000");
  EXPECT_EQ(query(path_, "SELECT count(*) FROM spans_ns WHERE kind = 'backward'"), "6");
}

INSTANTIATE_TEST_SUITE_P(Versions, GoldenTest,
                         testing::Values("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7",
                                         "1.8"),
                         [](const auto& version) {
                           return version.param == "1.0"   ? "OneZero"
                                  : version.param == "1.1" ? "OneOne"
                                  : version.param == "1.2" ? "OneTwo"
                                  : version.param == "1.3" ? "OneThree"
                                  : version.param == "1.4" ? "OneFour"
                                  : version.param == "1.5" ? "OneFive"
                                  : version.param == "1.6" ? "OneSix"
                                  : version.param == "1.7" ? "OneSeven"
                                                           : "OneEight";
                         });

class LatestGoldenTest : public GoldenTest {
 protected:
  void SetUp() override { take("1.8"); }
};

TEST_P(LatestGoldenTest, HoldsFaultsAndShapedTime) {
  const RunUpdate run = readAll(*openRun(path_));
  const SpanRow& shaped = run.spans.at(run.spans.size() - 4);
  EXPECT_EQ(shaped.kind, EventKind::kShaped);
  EXPECT_EQ(collectiveSequence(shaped.value), 5);
  const SpanRow& fault = run.spans.at(run.spans.size() - 2);
  EXPECT_EQ(fault.kind, EventKind::kFault);
  EXPECT_EQ(fault.value, 1 << 8 | 30);
  EXPECT_EQ(query(path_, "SELECT name FROM fault_kinds WHERE fault = 3"), "flip_bit");
}

TEST_P(LatestGoldenTest, HoldsWaitsForACore) {
  const RunUpdate run = readAll(*openRun(path_));
  const SpanRow& wait = run.spans.at(run.spans.size() - 3);
  EXPECT_EQ(wait.kind, EventKind::kOffCore);
  EXPECT_EQ(wait.value, 90'000);
  EXPECT_EQ(query(path_, "SELECT duration_ns, value FROM spans_ns WHERE kind = 'off_core'"),
            "150000|90000");
}

TEST_P(LatestGoldenTest, HoldsSamplesOfParametersAndGradients) {
  const RunUpdate run = readAll(*openRun(path_));
  ASSERT_EQ(run.fingerprints.size(), 4);
  EXPECT_EQ(run.fingerprints[0].hash, 0xFEDC'BA98'7654'3210);
  EXPECT_EQ(run.fingerprints[3].norm, 2.5);
  ASSERT_EQ(run.sketches.size(), 2);
  EXPECT_EQ(run.sketches[1].counters, (std::vector<double>{0.25, -4}));
  ASSERT_EQ(run.gradients.size(), 4);
  EXPECT_EQ(run.gradients[3].gradients.nans, 1);
  EXPECT_EQ(run.gradients[2].gradients.reduced, (GradientsMessage::Bucket::Reduced{2.5, 0xFEDC}));
  EXPECT_FALSE(run.gradients[3].gradients.reduced);
  EXPECT_EQ(query(path_, "SELECT * FROM parameters_differ"), "2|fc.bias|2");
}

TEST_P(GoldenTest, AnOlderFileHasNoSamples) {
  const RunUpdate run = readAll(*openRun(path_));
  EXPECT_EQ(run.fingerprints.empty(), GetParam() < "1.2");
}

TEST_P(LatestGoldenTest, HoldsSumsOfStepsOnTheTicksOfTheRecordingHost) {
  const RunUpdate run = readAll(*openRun(path_));
  ASSERT_EQ(run.sums.size(), 4) << "two of them packed";
  const StepSumsRow expected{{200'000, 600'000, 150'000, 400'000, 800'000, 0, 0, 0, 20'000},
                             1,
                             0,
                             1,
                             KeptDetail::kPhases,
                             0};
  EXPECT_EQ(run.sums[0], expected);
  StepSumsRow other = expected;
  other.id = 2;
  other.rank = 1;
  EXPECT_EQ(run.sums[1], other) << "its host's ticks are twice as long";
  EXPECT_EQ(run.info->environment.at(kDetail), "steps");
}

TEST_P(LatestGoldenTest, HoldsPackedSteps) {
  const RunUpdate run = readAll(*openRun(path_));
  for (std::uint32_t i = 0; i < 2; ++i) {
    const SpanRow& span = run.spans.at(i);
    EXPECT_EQ(span.id, i + 1);
    EXPECT_EQ(span.track, 0);
    EXPECT_EQ(span.kind, EventKind::kStep);
    EXPECT_EQ(span.step, 3 + i);
    EXPECT_EQ(span.startTicks, 13'000'000 + i * 1'000'000);
    EXPECT_EQ(span.durationTicks, 980'032);
    const StepSumsRow expected{{199'680, 600'064 + 64 * i, 149'760, 399'360, 800'000 + 64 * i,
                                299'520, 0, 299'520, 299'520},
                               0,
                               0,
                               3 + i,
                               KeptDetail::kSums,
                               0};
    EXPECT_EQ(run.sums.at(2 + i), expected);
  }
  EXPECT_EQ(run.spans.at(2).id, 3) << "ids go on behind them";
}

TEST_P(GoldenTest, AnOlderFileHasNoSums) {
  EXPECT_EQ(readAll(*openRun(path_)).sums.empty(), GetParam() < "1.7");
}

TEST_P(GoldenTest, AnOlderFileIsOfOneHost) {
  const RunUpdate run = readAll(*openRun(path_));
  const bool older = GetParam() < "1.3";
  EXPECT_EQ(run.hosts->size(), older ? 0 : 2);
  EXPECT_EQ(run.ranks->at(1).host, older ? 0 : 1);
  EXPECT_EQ(readRunSummary(path_).value().hosts.size(), older ? 0 : 2);
}

TEST_P(GoldenTest, AnOlderFileDoesNotKnowOfDivergence) {
  const RunUpdate run = readAll(*openRun(path_));
  EXPECT_EQ(run.info->divergence.has_value(), GetParam() >= "1.4");
  EXPECT_EQ(run.info->driftingHook, GetParam() < "1.4" ? "" : "post_local_sgd");
}

TEST_P(LatestGoldenTest, HoldsAPhaseOfTheUsersOwn) {
  const RunUpdate run = readAll(*openRun(path_));
  const SpanRow& phase = run.spans.at(run.spans.size() - 5);
  EXPECT_EQ(phase.kind, EventKind::kUserPhase);
  EXPECT_EQ(phase.value, userPhaseNumber("tokenise"));
  EXPECT_EQ(run.ranks->at(1).environment.at(kUserPhasePrefix + std::to_string(phase.value)),
            "tokenise");
}

TEST_P(LatestGoldenTest, HoldsWhereItDiverged) {
  const RunDivergence where = readRunSummary(path_).value().info.divergence.value();
  EXPECT_EQ(where, (RunDivergence{2, 1, "fc.bias",
                                  "the gradient of fc.bias of rank 1 holds NaN at step 2"}));
}

TEST_P(LatestGoldenTest, HoldsTwoHosts) {
  const RunUpdate run = readAll(*openRun(path_));
  const HostState& other = run.hosts->at(1);
  EXPECT_EQ(other.info.name, "other-host");
  EXPECT_EQ(other.info.address, "192.0.2.7");
  EXPECT_EQ(other.info.clockSource, "monotonic");
  EXPECT_EQ(other.offset, (ClockOffset{5'012'000, 31'000}));
  EXPECT_EQ(run.hosts->at(0).offset, ClockOffset{});
}

TEST_P(LatestGoldenTest, AReaderOfOneHostFindsThatOnesClock) {
  // As 1.0 to 1.2 ask for it.
  EXPECT_EQ(query(path_, "SELECT origin_ticks FROM clocks ORDER BY id DESC LIMIT 1"), "10000000");
}

TEST_P(LatestGoldenTest, IsWhatTodaysWriterWrites) {
  // Differs when the schema changed without a new version and a new golden file.
  ASSERT_TRUE(writeGoldenRun(folder_ / "today.lockstep").ok());
  const std::string schema = "SELECT type, name, sql FROM sqlite_master ORDER BY name";
  EXPECT_EQ(query(folder_ / "today.lockstep", schema), query(path_, schema));
  for (const char* table : {"spans", "metrics", "kinds", "operations", "startup_stages",
                            "fault_kinds", "bucket_parameters", "ranks", "clocks", "fingerprints",
                            "sketches", "gradients", "hosts", "step_sums", "packed_steps"}) {
    const std::string rows = std::string("SELECT * FROM ") + table;
    EXPECT_EQ(query(folder_ / "today.lockstep", rows), query(path_, rows)) << table;
  }
}

INSTANTIATE_TEST_SUITE_P(Latest, LatestGoldenTest, testing::Values("1.8"),
                         [](const auto&) { return "OneEight"; });

}  // namespace
}  // namespace lockstep::trace
