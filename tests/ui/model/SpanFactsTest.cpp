#include "engine/trace/Event.h"
#include "ui/model/SpanFacts.h"

#include <gtest/gtest.h>

#include <QJsonDocument>
#include <QJsonObject>

#include "tests/ui/model/DemoRun.h"
#include "tests/ui/model/Feed.h"
#include "tests/ui/model/FirstSpan.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

class SpanFacts : public testing::Test {
 protected:
  SpanFacts() {
    test::DemoOptions options;
    options.slowFactor = 1.5;  // rank 1 is last in every collective
    model_.applyUpdate(test::demoRun(options));
  }

  Span first(EventKind kind, std::uint32_t step, int rank = 0) {
    return test::firstSpan(model_, kind, step, rank);
  }

  QString value(const Span& span, const char* name) {
    for (const Fact& fact : factsOf(model_, span)) {
      if (fact.name == QLatin1String(name)) {
        return fact.value;
      }
    }
    return QStringLiteral("(no such fact)");
  }

  RunModel model_;
};

TEST_F(SpanFacts, NamesTheParameterOfAGradient) {
  const Span ready = first(EventKind::kGradientReady, 5);
  EXPECT_EQ(titleOf(model_, ready), "gradient ready: fc3.bias");
  EXPECT_EQ(value(ready, "Parameter"), "fc3.bias");
  EXPECT_EQ(value(ready, "Shape"), "10");
  EXPECT_EQ(value(ready, "Bytes"), "40 B");
}

TEST_F(SpanFacts, SaysWhereInItsIterationASpanStarts) {
  const Span forward = first(EventKind::kForward, 5);
  EXPECT_TRUE(value(forward, "Iteration").startsWith("5, "));
  EXPECT_TRUE(value(forward, "Iteration").endsWith("after its start"));
  EXPECT_EQ(value(forward, "Rank"), "0");
  EXPECT_EQ(value(forward, "Thread"), "step");
}

// Of another rank's step, say: clocks are compared to a few microseconds.
TEST_F(SpanFacts, SaysOfASpanThatItStartsBeforeItsIteration) {
  Span forward = first(EventKind::kForward, 5);
  forward.startNs = model_.step(0, 5)->startNs - 2'000;
  EXPECT_EQ(value(forward, "Iteration"), "5, 2.00 µs before its start");
}

TEST_F(SpanFacts, DescribesTheBucketByTheLayoutOfItsStep) {
  const Span before = first(EventKind::kWait, 0);
  const Span after = first(EventKind::kWait, 5);
  EXPECT_EQ(value(before, "Bucket"), "0 of 3 (4.03 MiB, 6 parameters)");
  EXPECT_TRUE(value(after, "Bucket").startsWith("0 of 5 ("));
}

TEST_F(SpanFacts, NamesTheRankThatCameLateAndHowLongTheOthersWaited) {
  const Span onFast = first(EventKind::kCollective, 5, 0);
  const Span onSlow = first(EventKind::kCollective, 5, 1);
  const Arrivals arrivals = arrivalsOf(model_, onFast);
  EXPECT_EQ(arrivals.lateRank, 1);
  EXPECT_EQ(arrivals.order, 1);
  EXPECT_DOUBLE_EQ(arrivals.lastArrivalNs, onSlow.startNs);
  EXPECT_DOUBLE_EQ(arrivals.waitNs, onSlow.startNs - onFast.startNs);
  EXPECT_EQ(value(onFast, "Arrived"),
            QStringLiteral("1st of 2; waited %1 for rank 1").arg(formatDuration(arrivals.waitNs)));
  EXPECT_TRUE(value(onSlow, "Arrived").startsWith("last of 2; others waited up to "));
}

TEST_F(SpanFacts, SaysOfManyRanksWhenPartsOfThemHadCome) {
  EXPECT_EQ(value(first(EventKind::kCollective, 5), "Arrivals"), "(no such fact)");
  test::Feed feed(9);
  for (int rank = 0; rank < 9; ++rank) {
    const std::uint64_t start = rank == 7 ? 90'000 : 1000 * static_cast<std::uint64_t>(rank);
    feed.span(2 * rank + 2, EventKind::kCollective, start, 95'000, 0, test::sequence(0),
              test::kAllreduce);
  }
  RunModel model;
  model.applyUpdate(feed.take());
  const Span span = model.spanAt(laneId(0, LaneRole::kCommunication), 1, 0);
  QString arrivals;
  for (const Fact& fact : factsOf(model, span)) {
    if (fact.name == QLatin1String("Arrivals")) {
      arrivals = fact.value;
    }
  }
  EXPECT_EQ(arrivals,
            "a quarter after 2.00 µs, half after 4.00 µs, three quarters after 6.00 µs, all after "
            "90.0 µs");
}

TEST_F(SpanFacts, RatesACollectiveFromTheLastArrivalOn) {
  const Span span = first(EventKind::kCollective, 5, 0);
  const Arrivals arrivals = arrivalsOf(model_, span);
  const double bytes = static_cast<double>(trace::collectiveBytes(span.value));
  const double expected = bytes / (span.endNs() - arrivals.lastArrivalNs);
  const QString rate = value(span, "Rate");
  EXPECT_TRUE(rate.endsWith("/s once all had arrived")) << rate.toStdString();
  const double unit = rate.contains(" MiB") ? 0x1p20 : 0x1p30;
  EXPECT_NEAR(rate.section(' ', 0, 0).toDouble() * unit / 1e9, expected, expected * 0.01);
}

TEST_F(SpanFacts, WritesJsonThatCanBeReadBack) {
  const Span span = first(EventKind::kCollective, 5);
  const QJsonObject object = QJsonDocument::fromJson(jsonOf(model_, span).toUtf8()).object();
  EXPECT_EQ(object["kind"].toString(), "collective");
  EXPECT_EQ(object["operation"].toString(), "allreduce");
  EXPECT_EQ(object["rank"].toInt(-1), 0);
  EXPECT_EQ(object["bucket"].toInt(-1), 0);
  EXPECT_DOUBLE_EQ(object["duration_ns"].toDouble(), span.durationNs);
}

}  // namespace
}  // namespace lockstep::ui
