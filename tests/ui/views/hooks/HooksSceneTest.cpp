#include "ui/views/hooks/HooksScene.h"

#include <gmock/gmock.h>

#include <QFile>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/views/hooks/HookRunFile.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/views/hooks/HooksPicture.h"

namespace lockstep::ui {
namespace {

using analysis::HookPhase;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HooksSceneTest : public testing::Test {
 protected:
  std::shared_ptr<const HookRun> run(const test::HookRunOptions& options = {}) {
    const auto path = folder_ / (std::to_string(++runs_) + ".lockstep");
    EXPECT_TRUE(test::writeHookRun(path, options).ok());
    return readHookRun(path).value();
  }

  void show(const std::vector<std::shared_ptr<const HookRun>>& runs,
            QSizeF size = QSizeF(1200, 700)) {
    content_ = makeHooksContent(runs, std::nullopt);
    frame_.size = size;
    list_.clear();
    scene().draw(list_);
  }

  [[nodiscard]] HooksScene scene() const {
    return HooksScene(*content_, Palette::of(Theme::kLight), frame_);
  }

  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const QString& text : list_.texts()) {
      all.push_back(text.toStdString());
    }
    return all;
  }

  [[nodiscard]] bool hatches(const QRectF& rect) const {
    return std::any_of(list_.commands().begin(), list_.commands().end(), [&](const auto& command) {
      return command.op == DisplayList::Op::kHatch && command.rect == rect;
    });
  }

  support::TemporaryFolder folder_;
  int runs_ = 0;
  std::shared_ptr<const HooksContent> content_;
  HooksFrame frame_;
  DisplayList list_;
};

TEST_F(HooksSceneTest, APhaseIsAsLongAsItsMedianAndTheNextBeginsWhereItEnds) {
  show({run()});
  // Medians over both ranks: encode 4, waiting 1, transfer 4, decode 1 ms.
  const QRectF encode = scene().rectOf({0, HookPhase::kEncode});
  const QRectF waiting = scene().rectOf({0, HookPhase::kWaiting});
  const QRectF transfer = scene().rectOf({0, HookPhase::kTransfer});
  EXPECT_GT(encode.width(), 100);
  EXPECT_NEAR(waiting.width(), encode.width() / 4, 1e-6);
  EXPECT_NEAR(transfer.width(), encode.width(), 1e-6);
  EXPECT_NEAR(waiting.left(), encode.right(), 1e-6);
  EXPECT_NEAR(transfer.left(), waiting.right(), 1e-6);
}

TEST_F(HooksSceneTest, ParametersOfTheHookAreNeverCutOff) {
  auto powersgd = std::make_shared<HookRun>(*run());
  powersgd->hook = "powersgd";
  powersgd->values =
      "rank 4, start_iter 10, min_compression_rate 2, use_error_feedback true, warm_start true, "
      "orthogonalization_epsilon 0.00001, seed 42, batch_tensors_with_same_shape false";
  const QString all = QString(powersgd->hook + powersgd->values).remove(' ');
  for (const double width : {1200.0, 900.0, 420.0}) {
    show({powersgd, run()}, QSizeF(width, 900));
    QString shown;
    for (const auto& command : list_.commands()) {
      if (command.op == DisplayList::Op::kText) {
        const QString text = list_.textOf(command);
        shown += QString(text).remove(' ');
        if (all.contains(QString(text).remove(' ')) && command.font == FontRole::kBold) {
          EXPECT_LE(textWidth(text, FontRole::kBold), command.rect.width())
              << text.toStdString() << " at " << width;
        }
      }
    }
    EXPECT_TRUE(shown.contains(all)) << shown.toStdString();
    EXPECT_GE(scene().rowOf(0).top(), 0);
  }
}

// The width that the view has in a window of 1440 by 900.
TEST_F(HooksSceneTest, TitlesOfTheTilesAreReadWholeInAWindowOfALaptop) {
  show({run()}, QSizeF(1115, 500));
  for (const char* title : {"Hook", "Own work a step", "Exposed", "Step",
                            "Gradients → collectives, a step", "ire a step"}) {
    const auto drawn = std::ranges::find_if(list_.commands(), [&](const auto& command) {
      return command.op == DisplayList::Op::kText && list_.textOf(command).contains(title);
    });
    ASSERT_NE(drawn, list_.commands().end()) << title;
    EXPECT_GE(drawn->rect.width(), textWidth(list_.textOf(*drawn), FontRole::kSmall)) << title;
  }
}

TEST_F(HooksSceneTest, OnlyWaitingIsHatched) {
  show({run()});
  EXPECT_TRUE(hatches(scene().rectOf({0, HookPhase::kWaiting})));
  EXPECT_FALSE(hatches(scene().rectOf({0, HookPhase::kTransfer})));
}

TEST_F(HooksSceneTest, SaysMedianAndP90BytesAndRatio) {
  show({run()});
  EXPECT_THAT(texts(), Contains("10.0 ms, P90 10.0 ms"));
  EXPECT_THAT(texts(), Contains("39.1 KiB → 3.91 KiB   10.0 : 1"));
  EXPECT_THAT(texts(), Contains("10.0 : 1, 39.1 KiB → 3.91 KiB"));
  EXPECT_THAT(texts(), Contains("4.88 KiB"));  // of the backend: 30,000 bytes in 6 steps
  EXPECT_THAT(texts(), Contains("5.00 ms"));   // own work: 3 + 1 and 5 + 1 ms
}

TEST_F(HooksSceneTest, MarksWhereALiveParameterWasChanged) {
  show({run()});
  EXPECT_THAT(texts(), Contains("▼ density = 0.01 from step 3"));
  EXPECT_THAT(texts(), Contains("density, a live parameter"));
  EXPECT_THAT(texts(), Contains("105 now, all ranks"));
}

TEST_F(HooksSceneTest, StepsAreWrittenInFullHoweverManyThereAre) {
  auto longRun = std::make_shared<HookRun>(*run());
  longRun->steps = 1'400'001;
  show({longRun});
  EXPECT_THAT(texts(), Contains("1,000,000"));
}

TEST_F(HooksSceneTest, TheHistogramFollowsThePickAndNamesItsQuantiles) {
  frame_.picked = HookPick{0, HookPhase::kEncode};
  show({run()});
  EXPECT_THAT(texts(), Contains("How long: bucket 0, encode"));
  EXPECT_THAT(texts(), Contains(HasSubstr("P50 4.00 ms")));
  EXPECT_THAT(texts(), Contains(HasSubstr("P99 5.00 ms")));
}

TEST_F(HooksSceneTest, LaysASecondRunBesideTheFirst) {
  show({run(), run({.hook = "allreduce", .transferMs = 8})});
  const QRectF first = scene().rectOf({0, HookPhase::kTransfer}, 0);
  const QRectF second = scene().rectOf({0, HookPhase::kTransfer}, 1);
  EXPECT_NEAR(second.width(), 2 * first.width(), 1e-6);
  EXPECT_GT(second.top(), first.bottom());
  EXPECT_TRUE(scene().rectOf({0, HookPhase::kEncode}, 1).isEmpty());
  EXPECT_THAT(texts(), Contains(AllOf(StartsWith("A   "), HasSubstr("P50 10.0 ms"))));
  EXPECT_THAT(texts(), Contains(AllOf(StartsWith("B   "), HasSubstr("P50 9.00 ms"))));
  EXPECT_THAT(texts(), Contains("B  allreduce, with allreduce"));
}

TEST_F(HooksSceneTest, APointPicksAPhaseOrTheRowAndTellsOfIt) {
  show({run()});
  const QPointF middle = scene().rectOf({0, HookPhase::kTransfer}).center();
  EXPECT_EQ(scene().pickAt(middle), (HookPick{0, HookPhase::kTransfer}));
  const QString tip = scene().tipAt(middle);
  EXPECT_THAT(tip.toStdString(), HasSubstr("10 calls: median 4.00 ms, P90 4.00 ms"));
  EXPECT_THAT(tip.toStdString(), HasSubstr("data moves"));
  const QPointF label(30, middle.y());
  EXPECT_EQ(scene().pickAt(label), (HookPick{0, std::nullopt}));
  EXPECT_FALSE(scene().pickAt(QPointF(600, 690)).has_value());
  EXPECT_THAT(scene().tipAt(QPointF(40, 30)).toStdString(), HasSubstr("communication hook"));
}

TEST_F(HooksSceneTest, ScrollsWhatDoesNotFit) {
  show({run()}, QSizeF(500, 300));
  EXPECT_GT(scene().contentHeight(), 500);
  const double before = scene().rowOf(0).top();
  frame_.scrollY = 100;
  EXPECT_NEAR(scene().rowOf(0).top(), before - 100, 1e-6);
}

TEST_F(HooksSceneTest, ARunWithoutCallsSaysSo) {
  show({run({.calls = false, .changed = false})});
  EXPECT_THAT(texts(), Contains("No phase of a hook was recorded in the measured steps"));
  EXPECT_THAT(texts(), Contains("No call of it was measured"));
}

TEST_F(HooksSceneTest, AHookThatCountsNothingHasNoCardOfCurves) {
  auto silent = std::make_shared<HookRun>(*run());
  show({silent});
  EXPECT_THAT(texts(), Contains("What the hook counts, over the steps"));
  silent->curves.clear();
  for (const double width : {500.0, 1200.0}) {
    show({silent}, QSizeF(width, 200));
    EXPECT_THAT(texts(), Not(Contains("What the hook counts, over the steps")));
    show({silent}, QSizeF(width, scene().contentHeight()));
    // The distribution is the last card: nothing but the margin is below it.
    double lowest = 0;
    for (const auto& command : list_.commands()) {
      lowest = command.op == DisplayList::Op::kOutline ? std::max(lowest, command.rect.bottom())
                                                       : lowest;
    }
    EXPECT_NEAR(lowest, scene().contentHeight() - 12, 1);
  }
}

TEST_F(HooksSceneTest, TitlesOfTheTilesAreLongerWhereThereIsRoom) {
  show({run()}, QSizeF(1576, 500));
  EXPECT_THAT(texts(), Contains("Exposed communication a step"));
  EXPECT_THAT(texts(), Contains("On the wire a step, rank 0"));
}

TEST_F(HooksSceneTest, TheMarksOfTheDistributionCarryTheirValues) {
  frame_.picked = HookPick{0, HookPhase::kEncode};
  show({run()});
  EXPECT_THAT(texts(), Contains("P50 4.00 ms"));
}

TEST_F(HooksSceneTest, IsAPictureOfTheWidthAskedForAndTheHeightItNeeds) {
  const auto content = makeHooksContent({run()}, std::nullopt);
  const Picture picture = hooksPicture(*content, QSize(1000, 0), Theme::kDark);
  EXPECT_EQ(picture.size.width(), 1000);
  EXPECT_GT(picture.size.height(), 300);
  EXPECT_EQ(picture.title, "Hooks: with topk");
  const QString path = QString::fromStdString((folder_ / "a.svg").string());
  ASSERT_TRUE(savePicture(picture, path).ok());
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_TRUE(file.readAll().contains("waiting"));
}

}  // namespace
}  // namespace lockstep::ui
