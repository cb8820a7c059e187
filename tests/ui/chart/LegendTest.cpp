#include "ui/chart/Legend.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep::ui {
namespace {

const std::vector<LegendEntry> kEntries{{{Qt::red, {}}, QStringLiteral("waiting for a rank")},
                                        {{Qt::blue, {}}, QStringLiteral("transfer")},
                                        {{Qt::green, {}}, QStringLiteral("computing")}};

std::vector<QString> drawnIn(QSizeF size) {
  DisplayList list;
  drawLegend(list, QRectF(QPointF(4, 4), size), kEntries, Palette::of(Theme::kLight));
  for (const auto& command : list.commands()) {
    EXPECT_TRUE(QRectF(QPointF(4, 4), size).adjusted(-1, -1, 1, 1).contains(command.rect));
  }
  return list.texts();
}

TEST(LegendTest, TakesAsManyLinesAsItsEntriesNeed) {
  const double line = legendHeight(kEntries, 800);
  EXPECT_EQ(drawnIn({800, line}).size(), kEntries.size());
  const double narrow = legendHeight(kEntries, 160);
  EXPECT_GT(narrow, line);
  EXPECT_EQ(drawnIn({160, narrow}).size(), kEntries.size());
}

TEST(LegendTest, StopsAtTheFirstEntryThatItHasNoRoomFor) {
  EXPECT_EQ(drawnIn({160, 20}), std::vector<QString>{kEntries[0].text});
  EXPECT_TRUE(drawnIn({20, 20}).empty());
}

}  // namespace
}  // namespace lockstep::ui
