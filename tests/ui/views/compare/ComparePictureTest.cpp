#include "ui/views/compare/ComparePicture.h"

#include <gtest/gtest.h>

#include "tests/ui/views/compare/AnalysedDemo.h"
#include "ui/canvas/TextMetrics.h"
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
  EXPECT_TRUE(says(picture, "99 % interval of Δ"));
  EXPECT_TRUE(says(picture, "differences of means, which add up to that of the step"));
  EXPECT_TRUE(says(picture, "B's mean step takes"));
  EXPECT_TRUE(says(picture, "A P50"));
  EXPECT_TRUE(says(picture, "A  demo   iteration"));
  EXPECT_TRUE(says(picture, "B  slow   iteration"));
  EXPECT_EQ(picture.title, "A  demo against B  slow");
}

// Of a run of two ranks both, each with its strips, as the picture of the README shows them.
TEST_F(ComparePictureTest, BothRanksOfASmallRunAreDrawnWholeInAPictureOf1600By1000) {
  const Picture picture = draw(QSize(1600, 1000));
  EXPECT_FALSE(says(picture, "of 2 ranks"));
  int headers = 0;
  for (const QString& text : picture.list.texts()) {
    headers += text == "Rank 1" ? 1 : 0;
  }
  EXPECT_EQ(headers, 2);
}

TEST_F(ComparePictureTest, SaysHowManyRanksHaveNoRoom) {
  EXPECT_TRUE(says(draw(QSize(1600, 800)), "the first 1 of 2 ranks"));
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

TEST_F(ComparePictureTest, SentencesOfWhyAreWrappedAndNeverCut) {
  CompareResult result;
  analysis::Why& why = result.comparison.why.emplace_back();
  why.summary = "B's mean step takes 9.70 ms more than A's: exposed communication 10.02 ms more.";
  why.reasons.resize(3);
  why.reasons[0].sentence = "Exposed transfer of buckets 1, 2, 3, 4, 5 of A takes 11.61 ms more.";
  why.reasons[1].sentence = "Computing takes less.";
  why.reasons[2].sentence = "Encoding takes less.";
  const auto drawn = [&](double height) {
    Picture picture;
    drawCompareWhy(&picture.list, QRectF(0, 0, 260, height), result, Palette::of(Theme::kLight));
    return picture;
  };
  const Picture all = drawn(1000);
  for (const DisplayList::Command& command : all.list.commands()) {
    const bool isSentence = command.op == DisplayList::Op::kText && command.rect.top() > 1 &&
                            command.alignment == static_cast<int>(kToTheLeft);
    if (isSentence) {
      EXPECT_LE(textWidth(all.list.textOf(command), command.font), command.rect.width());
    }
  }
  const QString words = QStringList(all.list.texts().begin(), all.list.texts().end()).join(u' ');
  EXPECT_TRUE(words.contains(QString::fromStdString(why.summary)));
  EXPECT_TRUE(words.contains("11.61 ms more."));
  // A sentence that has no room is counted, not begun.
  const double height =
      drawCompareWhy(nullptr, QRectF(0, 0, 260, 1000), result, Palette::of(Theme::kLight));
  EXPECT_TRUE(says(drawn(height), "Encoding takes less."));
  const Picture shorter = drawn(height - 5);
  EXPECT_FALSE(says(shorter, "Computing takes less."));
  EXPECT_TRUE(says(shorter, "and 2 more with less effect"));
}

TEST_F(ComparePictureTest, FiguresAndVerdictsAreReadWholeInAPictureOf1280Pixels) {
  const auto result =
      compareRuns({compareInput(a_.model, a_.analysed), compareInput(b_.model, b_.analysed)});
  DisplayList list;
  drawCompareMetrics(&list, QRectF(0, 0, 655, 1000), *result, Palette::of(Theme::kLight));
  for (const DisplayList::Command& command : list.commands()) {
    if (command.op == DisplayList::Op::kText) {
      const QString text = list.textOf(command);
      EXPECT_LE(textWidth(text, command.font), command.rect.width()) << text.toStdString();
    }
  }
}

TEST_F(ComparePictureTest, ARunWithoutStepsIsDrawnWithoutFigures) {
  test::AnalysedDemo empty(test::DemoOptions{.steps = 0}, "empty");
  const Picture picture = comparePicture(a_.model, *a_.analysed, empty.model, *empty.analysed,
                                         QSize(1280, 800), Theme::kLight);
  EXPECT_TRUE(says(picture, "no measured iteration"));
}

}  // namespace
}  // namespace lockstep::ui
