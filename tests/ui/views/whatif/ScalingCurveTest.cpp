#include "ui/views/whatif/ScalingCurve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/ui/views/whatif/WhatIfRuns.h"
#include "ui/views/whatif/ScalingScene.h"
#include "ui/views/whatif/ScalingTable.h"

namespace lockstep::ui {
namespace {

using test::whatIfRunOf;
using test::whatIfSteps;

bool has(const DisplayList& list, const QString& text) {
  return std::ranges::any_of(list.texts(), [&](const QString& one) { return one.contains(text); });
}

TEST(ScalingCurveTest, GoesFromTheRecordedRanksTo4096ByDoubling) {
  EXPECT_EQ(scaledRanks(2).front(), 4);
  EXPECT_EQ(scaledRanks(2).back(), 4096);
  EXPECT_EQ(scaledRanks(3).front(), 4);
  EXPECT_EQ(scaledRanks(2).size(), 11u);
  EXPECT_TRUE(scaledRanks(4096).empty());
}

TEST(ScalingCurveTest, SaysWhyARunCannotTell) {
  const ScalingCurve few = scalingCurve(*whatIfRunOf(whatIfSteps(5).update), {});
  EXPECT_FALSE(few.known());
  EXPECT_TRUE(scalingWords(few).startsWith("This run cannot tell, because only 4 of its steps"))
      << scalingWords(few).toStdString();
  DisplayList list;
  drawScaling(list, {QRectF(0, 0, 900, 300), 0, {}}, few, Palette::of(Theme::kLight));
  EXPECT_TRUE(has(list, "This run cannot tell"));
}

TEST(ScalingCurveTest, OfThousandsOfRanksThereAreNoMore) {
  auto run = whatIfSteps(2);
  run.update.info->worldSize = 4096;
  EXPECT_EQ(scalingWords(scalingCurve(*whatIfRunOf(run.update), {})),
            "This run has as many ranks as are simulated.");
}

TEST(ScalingCurveTest, HasIntervalsSaysExtrapolatedAndWhereItBreaks) {
  const auto run = whatIfRunOf(whatIfSteps(24).update);
  const auto curve = std::make_shared<const ScalingCurve>(scalingCurve(*run, {}));
  ASSERT_TRUE(curve->known()) << curve->whyNot.toStdString();
  ASSERT_EQ(curve->rows.size(), 12u);
  EXPECT_EQ(curve->rows.front().ranks, 2);
  EXPECT_FALSE(curve->rows.front().extrapolated);
  const simulate::RanksForecast* many = curve->of(64);
  ASSERT_NE(many, nullptr);
  EXPECT_TRUE(many->extrapolated);
  EXPECT_LT(many->stepNs.low, many->stepNs.value);
  EXPECT_LT(many->stepNs.value, many->stepNs.high);
  EXPECT_TRUE(
      scalingWords(*curve).startsWith("More ranks than the 2 of the run are extrapolated, from 23 "
                                      "iterations on its own link, as it "
                                      "was but for that. Efficiency "))
      << scalingWords(*curve).toStdString();
  EXPECT_TRUE(rankWords(*curve, 64).startsWith("On 64 ranks, extrapolated, a step would take "))
      << rankWords(*curve, 64).toStdString();
  EXPECT_TRUE(rankWords(*curve, 63).isEmpty());
  const auto rows = scalingRows(curve);
  ASSERT_EQ(rows->size(), 12u);
  EXPECT_EQ(rows->text(0, 6), "recorded");
  EXPECT_EQ(rows->text(1, 6), "extrapolated");
  EXPECT_TRUE(rows->text(1, 1).contains(" to ")) << "with its interval";

  diagnosis::WantedChange wanted;
  wanted.link = "infiniband_56g_8";
  const ScalingCurve linked = scalingCurve(*run, wanted, simulate::Algorithm::kRing);
  ASSERT_TRUE(linked.known()) << linked.whyNot.toStdString();
  EXPECT_EQ(linked.of(64)->by, simulate::Algorithm::kRing);
  EXPECT_TRUE(scalingWords(linked).contains("on 56 Gbit/s InfiniBand, 8 ranks, as it was"));

  const QRectF area(0, 0, 1000, 320);
  DisplayList list;
  drawScaling(list, {area, 64, QPointF(300, 150)}, *curve, Palette::of(Theme::kDark));
  for (const char* text :
       {"Step time by ranks", "Efficiency by ranks", "extrapolated →", "4,096"}) {
    EXPECT_TRUE(has(list, text)) << text;
  }
  EXPECT_EQ(has(list, "below 80 % by"), curve->breaks.ranks.has_value());
  EXPECT_TRUE(has(list, ", extrapolated")) << "the card under the pointer";
}

}  // namespace
}  // namespace lockstep::ui
