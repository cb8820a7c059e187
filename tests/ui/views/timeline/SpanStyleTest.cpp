#include "engine/trace/Event.h"
#include "ui/views/timeline/SpanStyle.h"

#include <gtest/gtest.h>

#include "tests/ui/model/Feed.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/chart/FlightBar.h"
#include "ui/views/timeline/TimelineLegend.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

// Every kind that is drawn: numbers are metrics, gaps are drawn over all rows.
std::vector<EventKind> drawnKinds() {
  std::vector<EventKind> kinds;
  for (std::uint16_t number = 1; number < 128; ++number) {
    const auto kind = static_cast<EventKind>(number);
    if (name(kind) != "unknown" && kind != EventKind::kLoss && kind != EventKind::kCounter &&
        kind != EventKind::kGap) {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

TEST(SpanStyle, GivesEveryKindAColour) {
  for (const EventKind kind : drawnKinds()) {
    Span span;
    span.kind = kind;
    EXPECT_NE(toneOf(span), Tone::kNeutral) << name(kind);
  }
}

TEST(SpanStyle, AModelledLinkHasAShadeOfTheTransferThatItProlongs) {
  Span link;
  link.kind = EventKind::kShaped;
  const Palette& palette = Palette::of(Theme::kLight);
  const QColor transfer = swatchOf(FlightPart::kTransfer, palette).colour;
  const auto legendOf = [&](bool shaped) {
    RunModel model;
    test::Feed feed;
    feed.span(2, EventKind::kCollective, 10, 20);
    if (shaped) {
      feed.span(2, EventKind::kShaped, 20, 30);
    }
    model.applyUpdate(feed.take());
    QStringList texts;
    for (const LegendEntry& entry : timelineLegend(model, ColourBy::kPhase, palette)) {
      texts << entry.text;
    }
    return texts;
  };
  const QColor own = colourOf(link, ColourBy::kPhase, palette);
  EXPECT_NEAR(own.hueF(), transfer.hueF(), 0.03);
  EXPECT_LT(own.lightnessF(), transfer.lightnessF() - 0.05);
  EXPECT_EQ(legendOf(true), (QStringList{"transfer", "modelled link", "waiting"}));
  EXPECT_EQ(legendOf(false), (QStringList{"transfer", "waiting"}));
}

TEST(SpanStyle, GivesEveryKindALaneAndALabelThatFitsASmallBar) {
  for (const EventKind kind : drawnKinds()) {
    RunModel model;
    model.applyUpdate(test::Feed().span(1, kind, 10, 20).take());
    ASSERT_EQ(model.lanes().size(), 1u) << name(kind);
    Span span;
    span.kind = kind;
    span.durationNs = 10;
    if (isInstant(span)) {
      continue;  // a mark
    }
    const QStringList labels = labelsOf(model, span);
    ASSERT_FALSE(labels.isEmpty());
    EXPECT_LE(textWidth(labels.back(), FontRole::kSmall), 140) << labels.back().toStdString();
    for (qsizetype i = 1; i < labels.size(); ++i) {
      EXPECT_LT(labels[i].size(), labels[i - 1].size()) << "the longest form comes first";
    }
  }
}

TEST(SpanStyle, DrawsAFaultThatLastsAsABarAndAnyOtherAsAMark) {
  Span fault;
  fault.kind = EventKind::kFault;
  EXPECT_TRUE(isInstant(fault));
  fault.durationNs = 5e6;
  EXPECT_FALSE(isInstant(fault));
}

TEST(SpanStyle, TellsTheHalvesOfADataParallelStepApart) {
  Span device;
  device.kind = EventKind::kParallelApply;
  EXPECT_EQ(toneOf(device), Tone::kForward);
  device.value = 1;
  EXPECT_EQ(toneOf(device), Tone::kBackward);
}

}  // namespace
}  // namespace lockstep::ui
