#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QJsonDocument>
#include <QJsonObject>

#include "engine/trace/Event.h"
#include "tests/ui/model/Feed.h"
#include "ui/model/HostWords.h"
#include "ui/model/SpanFacts.h"

namespace lockstep::ui {
namespace {

using test::Feed;
using test::kAllreduce;
using test::sequence;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using trace::EventKind;

constexpr auto kObserved = trace::RunKind::kObserved;
constexpr int kPhases1 = laneId(1, LaneRole::kPhases);
constexpr int kFirstCommunication = laneId(0, LaneRole::kCommunication);

// Two ranks on two hosts come to a collective 30 µs after one another.
Feed oneCollective(std::int64_t uncertaintyNs) {
  return Feed()
      .onTwoHosts(uncertaintyNs)
      .span(2, EventKind::kCollective, 0, 90'000, 0, sequence(1), kAllreduce)
      .span(4, EventKind::kCollective, 30'000, 90'000, 0, sequence(1), kAllreduce);
}

std::string factOf(const RunModel& model, const Span& span, const char* name) {
  for (const Fact& fact : factsOf(model, span)) {
    if (fact.name == QLatin1String(name)) {
      return fact.value.toStdString();
    }
  }
  return "(no such fact)";
}

TEST(Hosts, ARunOnOneHostSaysNothingOfHosts) {
  RunModel model;
  model.applyUpdate(Feed().span(1, EventKind::kForward, 0, 10).take());
  EXPECT_EQ(model.hostOf(0), nullptr);
  EXPECT_TRUE(model.clockDoubt().none());
  EXPECT_EQ(hostClockWords(model.hosts(), kObserved).shortly, QString());
}

TEST(Hosts, ASpanElsewhereSaysHowWellItsTimesAreKnown) {
  RunModel model;
  model.applyUpdate(oneCollective(31'000).take());
  const std::vector<Span> spans = model.sameCollective(*model.findSpan(kFirstCommunication, 1, 10));
  EXPECT_EQ(factOf(model, spans[0], "Host"), "alpha, which recorded the run");
  EXPECT_EQ(factOf(model, spans[1], "Host"),
            "beta; its times are within ± 31.0 µs of the recording host's");
  const QJsonObject json = QJsonDocument::fromJson(jsonOf(model, spans[1]).toUtf8()).object();
  EXPECT_EQ(json.value("host"), "beta");
  EXPECT_EQ(json.value("clock_uncertainty_ns"), 31'000);
}

TEST(Hosts, NoHostOfAnImportedJobRecordedIt) {
  RunModel model;
  Feed feed = oneCollective(31'000);
  feed.update.info.emplace();
  feed.update.info->kind = trace::RunKind::kImported;
  model.applyUpdate(feed.take());
  const std::vector<Span> spans = model.sameCollective(*model.findSpan(kFirstCommunication, 1, 10));
  EXPECT_EQ(factOf(model, spans[0], "Host"), "alpha, whose clock is the reference");
  EXPECT_EQ(factOf(model, spans[1], "Host"),
            "beta; its times are within ± 31.0 µs of the first host's");
  EXPECT_THAT(hostClockWords(model.hosts(), model.info().kind).each.toStdString(),
              HasSubstr("all times are by the clock of alpha\n"));
}

TEST(Hosts, WhoCameLastIsUnknownWithinTheDoubtOfTheClocks) {
  RunModel model;
  model.applyUpdate(oneCollective(31'000).take());
  const Span span = *model.findSpan(kFirstCommunication, 1, 10);
  const Arrivals arrivals = arrivalsOf(model, span);
  EXPECT_EQ(arrivals.lateRank, -1);
  EXPECT_THAT(arrivals.closeToLast, ElementsAre(0, 1));
  EXPECT_THAT(factOf(model, span, "Arrived"),
              HasSubstr("ranks 0, 1 came last within ± 31.0 µs, the doubt of their hosts' clocks"));
  EXPECT_EQ(model.lastRankOf(*model.meetingOf(span)), std::nullopt);
}

TEST(Hosts, AboveItTheLateRankIsNamed) {
  RunModel model;
  model.applyUpdate(oneCollective(29'000).take());
  const Span span = *model.findSpan(kFirstCommunication, 1, 10);
  const Arrivals arrivals = arrivalsOf(model, span);
  EXPECT_EQ(arrivals.lateRank, 1);
  EXPECT_THAT(arrivals.closeToLast, IsEmpty());
  EXPECT_EQ(model.lastRankOf(*model.meetingOf(span)), 1);
}

TEST(Hosts, RanksOfOneHostAreToldApartHoweverClose) {
  RunModel model;
  model.applyUpdate(Feed(3)
                        .onTwoHosts(50'000)
                        .span(4, EventKind::kCollective, 90'000, 95'000, 0, sequence(1), kAllreduce)
                        .span(6, EventKind::kCollective, 90'001, 95'000, 0, sequence(1), kAllreduce)
                        .take());
  const Span span = *model.findSpan(laneId(1, LaneRole::kCommunication), 1, 91'000);
  EXPECT_EQ(arrivalsOf(model, span).lateRank, 2);
  EXPECT_EQ(model.lastRankOf(*model.meetingOf(span)), 2);
}

TEST(Hosts, ABetterClockMayMoveTheStartsOfALaneBack) {
  // What came before the better clock was taken for 2 µs later than it was.
  RunModel model;
  Feed feed;
  feed.onTwoHosts(31'000)
      .span(3, EventKind::kForward, 10'000, 20'000, 0)
      .span(3, EventKind::kBackward, 20'000, 30'000, 0);
  model.applyUpdate(feed.take());
  model.applyUpdate(feed.span(3, EventKind::kOptimizer, 28'000, 38'000, 0)
                        .span(3, EventKind::kForward, 38'000, 48'000, 1)
                        .take());
  EXPECT_EQ(model.spanCount(), 4);
  const Lane* lane = model.lane(kPhases1);
  ASSERT_NE(lane, nullptr);
  std::size_t found = 0;
  for (const run::SpanStore& row : lane->rows) {
    for (std::size_t i = 1; i < row.size(); ++i) {
      EXPECT_GE(row.at(i).startTicks, row.at(i - 1).endTicks()) << "rows never overlap";
    }
    found += row.size();
  }
  EXPECT_EQ(found, 4);
  EXPECT_EQ(model.neighbour(*model.findSpan(kPhases1, 1, 25'000), 1)->startNs, 28'000);
}

TEST(Hosts, TheWorstClockIsTheOneToTellOf) {
  std::vector<trace::HostState> hosts{
      {{0, "alpha", "", "tsc"}, trace::ClockOffset{}},
      {{1, "beta", "", "tsc"}, trace::ClockOffset{5'012'000, 31'000}},
      {{2, "gamma", "", "tsc"}, trace::ClockOffset{-7'000, 90'000}}};
  EXPECT_EQ(hostClockWords(hosts, kObserved).shortly, "clock ± 90.0 µs");
  const std::string each = hostClockWords(hosts, kObserved).each.toStdString();
  EXPECT_THAT(each, HasSubstr("alpha recorded the run"));
  EXPECT_THAT(each, HasSubstr("beta: +5.012 ms ± 0.031 ms"));
  EXPECT_THAT(each, HasSubstr("gamma: -0.007 ms ± 0.090 ms"));
  hosts[2].offset.reset();
  EXPECT_EQ(hostClockWords(hosts, kObserved).shortly, "clock of gamma unknown");
}

}  // namespace
}  // namespace lockstep::ui
