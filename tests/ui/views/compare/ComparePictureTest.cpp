#include "ui/views/compare/ComparePicture.h"

#include <gtest/gtest.h>

#include "tests/ui/views/compare/AnalysedDemo.h"
#include "ui/views/compare/CompareScene.h"

namespace lockstep::ui {
namespace {

bool says(const Picture& picture, const QString& text) {
  for (const QString& drawn : picture.list.texts()) {
    if (drawn.contains(text)) {
      return true;
    }
  }
  return false;
}

class ComparePictureTest : public testing::Test {
 protected:
  Picture draw(QSize size, Theme theme = Theme::kLight) {
    return comparePicture(a_.model, *a_.analysed, b_.model, *b_.analysed, size, theme);
  }

  test::AnalysedDemo a_;
  test::AnalysedDemo b_{test::slower(), "slow"};
};

TEST_F(ComparePictureTest, ShowsKeysFiguresReasonsDistributionAndBothIterations) {
  const Picture picture = draw(QSize(1600, 0));
  EXPECT_EQ(picture.size.width(), 1600);
  EXPECT_GT(picture.size.height(), 400);
  EXPECT_TRUE(says(picture, "Keys that differ"));
  EXPECT_TRUE(says(picture, "None: the experiments are the same."));
  EXPECT_TRUE(says(picture, "step time [ms]"));
  EXPECT_TRUE(says(picture, "means over ranks and iterations"));
  EXPECT_TRUE(says(picture, "differences of means, which add up to that of the step"));
  EXPECT_TRUE(says(picture, "B's mean step takes"));
  EXPECT_TRUE(says(picture, "A P50"));
  EXPECT_TRUE(says(picture, "A  demo   iteration"));
  EXPECT_TRUE(says(picture, "B  slow   iteration"));
  EXPECT_EQ(picture.title, "A  demo against B  slow");
}

TEST_F(ComparePictureTest, AGivenHeightIsKept) {
  for (const QSize size : {QSize(1280, 800), QSize(800, 400), QSize(300, 200)}) {
    EXPECT_EQ(draw(size, Theme::kDark).size, QSizeF(size));
  }
}

TEST_F(ComparePictureTest, CountsTheReasonsThatHaveNoRoom) {
  CompareResult result;
  analysis::Why& why = result.comparison.why.emplace_back();
  why.reasons.resize(30);
  const auto drawn = [&](double height) {
    Picture picture;
    drawCompareWhy(&picture.list, QRectF(0, 0, 600, height), result, Palette::of(Theme::kLight));
    return picture;
  };
  EXPECT_TRUE(says(drawn(10), "and 30 more with less effect"));
  EXPECT_FALSE(says(drawn(2000), "more with less effect"));
}

TEST_F(ComparePictureTest, ARunWithoutStepsIsDrawnWithoutFigures) {
  test::AnalysedDemo empty(test::DemoOptions{.steps = 0}, "empty");
  const Picture picture = comparePicture(a_.model, *a_.analysed, empty.model, *empty.analysed,
                                         QSize(1280, 800), Theme::kLight);
  EXPECT_TRUE(says(picture, "no measured iteration"));
}

}  // namespace
}  // namespace lockstep::ui
