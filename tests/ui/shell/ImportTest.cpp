// Traces of other tools that are dropped on the window or chosen from its menu.
#include <QDir>
#include <QDropEvent>
#include <QMimeData>
#include <QPushButton>
#include <QTabBar>
#include <QTableView>
#include <QUrl>

#include "tests/ui/shell/MainWindowFixture.h"
#include "ui/shell/Stages.h"
#include "ui/views/compare/CompareView.h"

namespace lockstep {
namespace {

using tests::waitUntil;
using trace::RunState;

class ImportTest : public tests::MainWindowFixture {
 protected:
  QString trace(const std::string& name) {
    return QString::fromStdString(folder_.write(name, "{}").string());
  }
  /// Drags files over the window and lets go; returns whether it took them.
  bool drop(const QStringList& paths) {
    QMimeData data;
    QList<QUrl> urls;
    for (const QString& path : paths) {
      urls.append(QUrl::fromLocalFile(path));
    }
    data.setUrls(urls);
    QDragEnterEvent enter(QPoint(600, 400), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window(), &enter);
    QDropEvent drop(QPointF(600, 400), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window(), &drop);
    return enter.isAccepted() && drop.isAccepted();
  }
  QStringList filesOfRuns() const { return QDir(runs()).entryList({"*.lockstep*"}, QDir::Files); }
};

TEST_F(ImportTest, DroppedTracesBecomeARunThatOpens) {
  ASSERT_TRUE(drop({trace("rank0.pt.trace.json"), trace("rank1.pt.trace.json")}));
  ASSERT_TRUE(waitForState(RunState::kFinished));
  EXPECT_EQ(window().session()->model()->stepCount(0), 5U);
  EXPECT_TRUE(window().session()->path().startsWith(runs() + "/rank0.pt.trace-"))
      << window().session()->path().toStdString();
  EXPECT_TRUE(messages().isEmpty()) << messages().join(' ').toStdString();
}

TEST_F(ImportTest, ADroppedFolderIsImportedAsAWhole) {
  folder_.write("profile/rank0.json.gz", "");
  ASSERT_TRUE(drop({QString::fromStdString((folder_ / "profile").string())}));
  ASSERT_TRUE(waitForState(RunState::kFinished));
  EXPECT_TRUE(window().session()->path().startsWith(runs() + "/profile-"));
}

TEST_F(ImportTest, SaysWhatOfAFolderIsNoPartOfTheRun) {
  std::filesystem::create_directories(folder_ / "others");
  ASSERT_TRUE(drop({QString::fromStdString((folder_ / "others").string())}));
  ASSERT_TRUE(waitForState(RunState::kFinished));
  EXPECT_TRUE(waitUntil([this] {
    return messages() ==
           QStringList{"Imported; left out: 2 files that hold neither traces nor dumps."};
  })) << messages().join(' ').toStdString();
}

TEST_F(ImportTest, WhatIsNoTraceIsOneLineAndLeavesNothing) {
  ASSERT_TRUE(drop({trace("refused.json")}));
  ASSERT_TRUE(waitUntil([this] { return messages().join(' ').contains("this is no JSON"); }));
  EXPECT_TRUE(messages().front().endsWith("refused.json: byte 12: this is no JSON"));
  EXPECT_FALSE(messages().front().contains("lockstep:"));
  EXPECT_EQ(find<QTableView>("problemsTable")->model()->rowCount(), 1);
  EXPECT_EQ(window().session(), nullptr);
  EXPECT_TRUE(filesOfRuns().isEmpty());
}

TEST_F(ImportTest, SaysHowFarItIsAndCanBeCancelled) {
  ASSERT_TRUE(drop({trace("endless.json")}));
  ASSERT_TRUE(waitUntil([this] {
    return messages() == QStringList{"Importing endless.json: read 40 %"};
  })) << messages().join(' ').toStdString();
  EXPECT_FALSE(filesOfRuns().isEmpty());
  ASSERT_TRUE(drop({trace("second.json")}));
  EXPECT_TRUE(messages().contains("endless.json is being imported; one import at a time."));
  clickMessage("Cancel");
  ASSERT_TRUE(waitUntil(
      [this] { return messages().contains("The import was cancelled; nothing was written."); }));
  EXPECT_TRUE(filesOfRuns().isEmpty());
  EXPECT_EQ(window().session(), nullptr);
}

TEST_F(ImportTest, ClosingTheStudioEndsAnImportAndLeavesNothing) {
  ASSERT_TRUE(drop({trace("endless.json")}));
  ASSERT_TRUE(waitUntil([this] { return messages().join(' ').contains("read 40 %"); }));
  closeWindow();
  EXPECT_TRUE(filesOfRuns().isEmpty());
}

TEST_F(ImportTest, RunsThatAreDroppedTogetherAreComparedWithTheFirst) {
  const QString a = finishedRun();
  trace::RunInfo info;
  info.runId = "b";
  const QString b = runThatSays(info);
  ASSERT_TRUE(drop({a, trace("a.json"), b}));
  EXPECT_TRUE(waitUntil([this] { return find<ui::Stages>("stages")->current() == "compare"; }));
  EXPECT_EQ(window().session()->path(), a);
  const auto* compare = window().findChild<ui::CompareView*>();
  ASSERT_TRUE(waitUntil([&] { return compare->otherTabs()->count() == 1; }));
  EXPECT_EQ(compare->runs().model(1)->path().string(), b.toStdString());
}

TEST_F(ImportTest, ARunAmongWhatIsDroppedIsOpenedAndAnExperimentIsLeft) {
  const QString run = finishedRun();
  ASSERT_TRUE(drop({trace("a.json"), run}));
  ASSERT_TRUE(waitForState(RunState::kFinished));
  EXPECT_EQ(window().session()->path(), run);
  EXPECT_FALSE(drop({QString::fromStdString(folder_.write("x.toml", "").string())}));
}

}  // namespace
}  // namespace lockstep
