#include "tests/ui/xtest/CutText.h"

#include <QAction>
#include <QDockWidget>
#include <QLabel>
#include <QPushButton>
#include <QTabBar>

#include "tests/ui/xtest/ViewsFixture.h"
#include "ui/panels/ElidedLabel.h"
#include "ui/panels/findings/FindingsList.h"
#include "ui/shell/ExportDialog.h"
#include "ui/shell/KeyBindings.h"
#include "ui/shell/RecordDialog.h"
#include "ui/shell/Stages.h"
#include "ui/views/compare/CompareView.h"
#include "ui/views/timeline/TimelineView.h"

namespace lockstep {
namespace {

using namespace tests;

TEST(CutText, NamesWordsThatAreCutOffAndWidgetsThatAreOutOfTheWindow) {
  QWidget window;
  window.resize(200, 100);
  auto* label = new QLabel("a sentence that is wider than the room that it has", &window);
  label->setObjectName("sentence");
  label->setGeometry(0, 0, 100, 20);
  auto* button = new QPushButton("Show", &window);
  button->setGeometry(150, 40, 100, 30);
  button->setObjectName("show");
  auto* elided = new ui::ElidedLabel(&window);
  elided->setWords("another sentence that is wider than the room that it has");
  elided->setGeometry(0, 70, 100, 20);
  auto* tabs = new QTabBar(&window);
  tabs->setObjectName("tabs");
  tabs->setUsesScrollButtons(false);
  tabs->addTab("Overlap");
  tabs->addTab("Divergence");
  tabs->setGeometry(0, 40, 60, 24);
  window.show();
  const QString all = cutIn(window).join('\n');
  EXPECT_TRUE(all.contains("QLabel sentence cuts off \"a sentence that is wider"))
      << all.toStdString();
  EXPECT_TRUE(all.contains("QPushButton show reaches out of the window")) << all.toStdString();
  EXPECT_TRUE(all.contains("has no room for its tab \"Divergence\"")) << all.toStdString();
  EXPECT_FALSE(all.contains("another sentence")) << all.toStdString();
}

// The window as large as people have it, from a small laptop to a large screen.
class CutTextXTest : public ViewsFixture {
 protected:
  static constexpr QSize kSizes[] = {
      {1024, 640}, {1280, 720}, {1280, 800}, {1440, 900}, {2560, 1440}};
  // What a screen of 1,440 by 900 is at twice the usual scale, on which panels are closed.
  static constexpr QSize kSmallest{720, 450};

  void closePanels() {
    for (QDockWidget* dock : window().findChildren<QDockWidget*>()) {
      dock->hide();
    }
  }

  void setSize(const QSize& size) {
    window().resize(size);
    EXPECT_TRUE(waitUntil([&] { return window().size() == size; }))
        << window().width() << " x " << window().height() << " of " << size.width() << " x "
        << size.height() << ": something does not let the window be as small";
  }
  // Until nothing moves any more.
  void expectNothingCut(const QString& where, const QWidget* in = nullptr) {
    QStringList cuts;
    EXPECT_TRUE(waitUntil(
        [&] {
          cuts = cutIn(in == nullptr ? window() : *in);
          return cuts.isEmpty();
        },
        std::chrono::milliseconds(1500)))
        << where.toStdString() << ":\n"
        << cuts.join('\n').toStdString();
  }
  static QString at(const QSize& size) {
    return QStringLiteral(" at %1 x %2").arg(size.width()).arg(size.height());
  }
};

TEST_P(CutTextXTest, NoWordsOfAnyViewAreCutOff) {
  openDemo();
  auto* stages = find<ui::Stages>("stages");
  for (const QSize& size : kSizes) {
    setSize(size);
    for (const QString& name : stages->names()) {
      showStage(name);
      expectNothingCut(name + at(size));
      EXPECT_EQ(window().size(), size) << name.toStdString() << " made the window larger";
    }
  }
}

TEST_P(CutTextXTest, NoWordsOfAnyPanelAreCutOff) {
  openDemo();
  for (const QSize& size : kSizes) {
    setSize(size);
    for (QDockWidget* dock : window().findChildren<QDockWidget*>()) {
      const bool wasShown = dock->isVisible();
      dock->show();
      dock->raise();
      expectNothingCut(dock->objectName() + at(size));
      EXPECT_EQ(window().size(), size) << dock->objectName().toStdString();
      dock->setVisible(wasShown);
    }
  }
}

TEST_P(CutTextXTest, NoWordsOfTheStartPageAreCutOff) {
  for (const QSize& size : kSizes) {
    setSize(size);
    expectNothingCut("the start page" + at(size));
  }
}

TEST_P(CutTextXTest, InTheSmallestWindowEachViewAndPanelHasRoomOrIsScrolled) {
  closePanels();
  setSize(kSmallest);
  expectNothingCut("the start page" + at(kSmallest));
  openDemo();
  closePanels();
  auto* stages = find<ui::Stages>("stages");
  for (const QString& name : stages->names()) {
    showStage(name);
    expectNothingCut(name + at(kSmallest));
    EXPECT_EQ(window().size(), kSmallest) << name.toStdString();
  }
  for (QDockWidget* dock : window().findChildren<QDockWidget*>()) {
    dock->show();
    dock->raise();
    expectNothingCut(dock->objectName() + at(kSmallest));
    EXPECT_EQ(window().size(), kSmallest) << dock->objectName().toStdString();
    dock->hide();
  }
}

TEST_P(CutTextXTest, NoWordsOfAComparisonAreCutOff) {
  const auto other = runPath("other.lockstep");
  ASSERT_TRUE(ui::test::writeDemoRun(other, {.seed = 2, .slowFactor = 1.6}).ok());
  openDemo();
  auto& compare = view<ui::CompareView>();
  compare.addRun(QString::fromStdString(other.string()));
  showStage("compare");
  ASSERT_TRUE(waitUntil([&] { return compare.runs().result() != nullptr; }));
  for (const QSize& size : kSizes) {
    setSize(size);
    expectNothingCut("the comparison" + at(size));
  }
  closePanels();
  setSize(kSmallest);
  expectNothingCut("the comparison" + at(kSmallest));
}

TEST_P(CutTextXTest, NoWordsOfTheFindingsAreCutOff) {
  openDemo();
  auto* list = find<ui::FindingsList>("findingsList");
  closePanels();
  for (const QSize& size : {QSize(1280, 720), kSmallest}) {
    setSize(size);
    press(kKeyF8);
    ASSERT_TRUE(waitUntil([&] { return list->isVisible(); }));
    expectNothingCut("findings" + at(size), list);
    EXPECT_TRUE(window().frameGeometry().contains(list->frameGeometry())) << at(size).toStdString();
    list->close();
  }
}

TEST_P(CutTextXTest, DialogsAreScrolledWhereTheScreenHasNoRoomForThem) {
  const auto expectRoom = [this](QDialog& dialog, const QString& name) {
    dialog.show();
    ASSERT_TRUE(waitUntil([&] { return dialog.isVisible(); }));
    expectNothingCut(name, &dialog);
    for (const QSize& size : {QSize(660, 400), QSize(470, 290)}) {
      dialog.resize(size);
      EXPECT_TRUE(waitUntil([&] { return dialog.size() == size; }))
          << name.toStdString() << ": " << dialog.width() << " x " << dialog.height();
      expectNothingCut(name + at(size), &dialog);
    }
    dialog.close();
  };
  ui::RecordDialog record({}, runs(), {}, &window());
  expectRoom(record, "the dialog that records a job");
  ui::ExportDialog exports({runs(), "Timeline", {}, {}}, runs(), &window());
  expectRoom(exports, "the dialog that exports");
  find<QAction>("changeKeys")->trigger();
  expectRoom(*find<ui::KeyEditor>("keyEditor"), "the dialog of keys");
}

// The first look at the demo on a laptop.
TEST_P(CutTextXTest, BothRanksOfASmallRunAreSeenAtOnceOnALaptop) {
  openDemo();
  setSize({1440, 900});
  showStage("timeline");
  const auto& timeline = *view<ui::TimelineView>().controller();
  EXPECT_TRUE(waitUntil([&] { return timeline.maximumScroll() == 0; }))
      << timeline.maximumScroll() << " px are out of sight";
}

INSTANTIATE_TEST_SUITE_P(Painters, CutTextXTest, testing::Values("raster"));

}  // namespace
}  // namespace lockstep
