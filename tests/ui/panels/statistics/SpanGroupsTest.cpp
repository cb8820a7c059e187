#include "engine/trace/Event.h"
#include "ui/panels/statistics/SpanGroups.h"

#include <gtest/gtest.h>

#include "engine/analysis/SpanStatistics.h"
#include "ui/model/SpanQuery.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

Span spanOf(EventKind kind, int rank, int bucket = -1, std::uint64_t value = 0,
            std::uint16_t detail = 0) {
  Span span;
  span.id = 1;
  span.kind = kind;
  span.lane = laneId(rank, laneRoleOf(kind));
  span.bucket = bucket < 0 ? trace::kNoBucket : static_cast<std::uint16_t>(bucket);
  span.value = value;
  span.detail = detail;
  return span;
}

const std::uint16_t kAllreduce = trace::packOperation(trace::Operation::kAllreduce);
const std::uint16_t kBroadcast = trace::packOperation(trace::Operation::kBroadcast);

// Names of the groups of some spans, one after the other.
QStringList names(GroupBy by, const std::vector<Span>& spans) {
  SpanGroups groups(by);
  QStringList result;
  for (const Span& span : spans) {
    const std::uint32_t group = groups.groupOf(span);
    result << (group == analysis::kNoGroup ? QStringLiteral("-") : groups.all()[group].name);
  }
  return result;
}

const std::vector<Span> kSome{
    spanOf(EventKind::kForward, 0),
    spanOf(EventKind::kCollective, 1, 2, 5, kAllreduce),
    spanOf(EventKind::kCollective, 1, 3, 6, kAllreduce),
    spanOf(EventKind::kCollective, 0, -1, 7, kBroadcast),
    spanOf(EventKind::kHookEncode, 0, 2),
    spanOf(EventKind::kGradientReady, 0, 2, 11),
};

TEST(SpanGroups, AreMadeByWhatIsAskedFor) {
  EXPECT_EQ(names(GroupBy::kName, kSome), (QStringList{"forward", "allreduce", "allreduce",
                                                       "broadcast", "encode", "gradient ready"}));
  EXPECT_EQ(names(GroupBy::kNameAndBucket, kSome),
            (QStringList{"forward", "allreduce, bucket 2", "allreduce, bucket 3", "broadcast",
                         "encode, bucket 2", "gradient ready, bucket 2"}));
  EXPECT_EQ(names(GroupBy::kBucket, kSome), (QStringList{"no bucket", "bucket 2", "bucket 3",
                                                         "no bucket", "bucket 2", "bucket 2"}));
  EXPECT_EQ(names(GroupBy::kHook, kSome),
            (QStringList{"-", "-", "-", "-", "encode, bucket 2", "-"}));
  EXPECT_EQ(names(GroupBy::kRank, kSome),
            (QStringList{"rank 0", "rank 1", "rank 1", "rank 0", "rank 0", "rank 0"}));
  EXPECT_EQ(names(GroupBy::kAll, kSome),
            (QStringList{"forward, rank 0", "allreduce, bucket 2, rank 1",
                         "allreduce, bucket 3, rank 1", "broadcast, rank 0",
                         "encode, bucket 2, rank 0", "gradient ready, bucket 2, rank 0"}));
}

// What a row says it counts is what its query finds, and nothing else.
TEST(SpanGroups, TheQueryOfAGroupAsksForItsSpans) {
  for (const GroupBy by :
       {GroupBy::kName, GroupBy::kNameAndBucket, GroupBy::kBucket, GroupBy::kRank, GroupBy::kAll}) {
    SpanGroups groups(by);
    std::vector<std::uint32_t> own;
    for (const Span& span : kSome) {
      own.push_back(groups.groupOf(span));
    }
    for (std::uint32_t group = 0; group < groups.all().size(); ++group) {
      const SpanQuery query(groups.all()[group].query);
      EXPECT_TRUE(query.valid()) << query.text().toStdString();
      for (std::size_t i = 0; i < kSome.size(); ++i) {
        EXPECT_EQ(query.matches(ParameterTable(), kSome[i]), own[i] == group)
            << query.text().toStdString() << " and span " << i;
      }
    }
  }
}

// Rank 0: forward 0..10, backward 10..30; rank 1 begins its backward at 20.
TEST(SpanGroups, APhaseIsThatOfTheRankAtTheTime) {
  SpanGroups groups(GroupBy::kPhase);
  const auto phase = [&](EventKind kind, int rank, double start, double end) {
    Span span = spanOf(kind, rank);
    span.startNs = start;
    span.durationNs = end - start;
    groups.notePhase(span);
  };
  phase(EventKind::kBackward, 1, 20, 40);
  phase(EventKind::kBackward, 0, 10, 30);
  phase(EventKind::kForward, 0, 0, 10);
  phase(EventKind::kWait, 0, 12, 14);  // no phase
  groups.endPhases();
  const auto at = [&](int rank, double ns) {
    return groups.all()[groups.phaseOf(rank, ns)].name.toStdString();
  };
  EXPECT_EQ(at(0, 0), "forward");
  EXPECT_EQ(at(0, 10), "backward");
  EXPECT_EQ(at(0, 13), "backward");
  EXPECT_EQ(at(0, 30), "between phases");
  EXPECT_EQ(at(1, 13), "between phases");
  EXPECT_EQ(at(1, 39), "backward");
}

}  // namespace
}  // namespace lockstep::ui
