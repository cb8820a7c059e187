#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRadioButton>

#include "tests/ui/shell/MainWindowFixture.h"
#include "ui/shell/ExportController.h"
#include "ui/shell/ExportDialog.h"
#include "ui/shell/MessageBar.h"
#include "ui/shell/Pages.h"
#include "ui/table/TableView.h"

namespace lockstep {
namespace {

using tests::waitUntil;
using trace::RunState;

// File > Export of a finished run of 40 iterations, by pointer and keyboard.
class ExportTest : public tests::MainWindowFixture {
 protected:
  void openFinishedRun() {
    window().openRun(finishedRun());
    ASSERT_TRUE(waitForState(RunState::kFinished));
  }
  // Opens the dialog by its key.
  ui::ExportDialog* ask() {
    input_.key('e', {tests::kKeyControl});
    ui::ExportDialog* dialog = nullptr;
    EXPECT_TRUE(waitUntil([&] {
      dialog = window().findChild<ui::ExportDialog*>();
      return dialog != nullptr && dialog->isActiveWindow();
    }));
    return dialog;
  }
  template <typename T>
  T* in(const ui::ExportDialog* dialog, const char* name) {
    T* found = dialog->findChild<T*>(name);
    EXPECT_NE(found, nullptr) << name;
    return found;
  }
  QString path(const QString& name) const { return runs() + '/' + name; }
  static QByteArray content(const QString& path) {
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::ReadOnly)) << path.toStdString();
    return file.readAll();
  }
  // Waits for the sentence that an export ends with.
  QString sentence() {
    QString found;
    EXPECT_TRUE(waitUntil([&] {
      for (const QString& text : messages()) {
        if (!text.endsWith(u'…')) found = text;
      }
      return !found.isEmpty();
    }));
    return found;
  }
};

TEST_F(ExportTest, ReturnWritesATraceOfAllRanksBesideTheRun) {
  openFinishedRun();
  ui::ExportDialog* dialog = ask();
  EXPECT_EQ(in<QLineEdit>(dialog, "exportPath")->text(), path("old.json"));
  tests::keep(input_.screenshot(), "export");
  input_.key(tests::kKeyReturn);
  EXPECT_TRUE(sentence().startsWith("Saved " + path("old.json"))) << sentence().toStdString();
  const QJsonObject trace = QJsonDocument::fromJson(content(path("old.json"))).object();
  EXPECT_EQ(trace.value("distributedInfo").toObject().value("world_size").toInt(), 2);
  EXPECT_GT(trace.value("traceEvents").toArray().size(), 40 * 2);
}

TEST_F(ExportTest, OneCommandSavesAPictureOfTheViewAndAnotherItsTable) {
  openFinishedRun();
  window().findChild<ui::Pages*>()->showView("whatif");
  auto* table = find<ui::TableView>("whatIfBuckets");
  ASSERT_TRUE(waitUntil([&] { return table->isVisible() && table->model()->rowCount() > 0; }));
  find<QAction>("savePicture")->trigger();
  EXPECT_EQ(sentence(), "Saved " + path("old-whatif.png") + ".");
  EXPECT_FALSE(QImage(path("old-whatif.png")).isNull());
  find<QAction>("savePicture")->trigger();
  EXPECT_TRUE(QFileInfo::exists(path("old-whatif-2.png"))) << "nothing is written over";
  find<QAction>("saveTable")->trigger();
  const QString csv = path("old-buckets-of-the-forecast.csv");
  EXPECT_EQ(sentence(),
            "Saved " + csv + ": " + QString::number(table->model()->rowCount()) + " rows.");
  EXPECT_TRUE(content(csv).contains("Bucket,"));
}

TEST_F(ExportTest, TheTableWithTheFocusIsSavedAndWithoutAnyThatIsSaid) {
  finishedRun();
  window();
  auto* table = find<ui::TableView>("runsTable");
  ASSERT_TRUE(waitUntil([&] { return table->isVisible() && table->model()->rowCount() == 1; }));
  table->setFocus();
  find<QAction>("saveTable")->trigger();
  EXPECT_EQ(sentence(), "Saved " + path("lockstep-runs.csv") + ": 1 row.");
  EXPECT_TRUE(content(path("lockstep-runs.csv")).contains("demo"));
  table->clearFocus();
  find<QDockWidget>("setupDock")->raise();  // the list lies behind it
  ASSERT_TRUE(waitUntil([&] { return table->visibleRegion().isEmpty(); }));
  find<QAction>("saveTable")->trigger();
  EXPECT_TRUE(waitUntil([&] {
    return messages().contains("No table is in sight: open a view or a panel that has one.");
  })) << messages().join(' ').toStdString();
}

TEST_F(ExportTest, ATableIsOfferedUnderItsOwnName) {
  openFinishedRun();
  ui::ExportDialog* dialog = ask();
  click(in<QRadioButton>(dialog, "exportTable"));
  auto* file = in<QLineEdit>(dialog, "exportPath");
  ASSERT_TRUE(waitUntil([&] { return file->text() == path("old.events.csv"); }));
  auto* tables = in<QComboBox>(dialog, "exportTables");
  tables->setFocus();
  input_.key(tests::kKeyDown);
  input_.key(tests::kKeyDown);
  ASSERT_TRUE(waitUntil([&] { return file->text() == path("old.steps.csv"); }))
      << file->text().toStdString();
  click(in<QPushButton>(dialog, "exportGo"));
  EXPECT_TRUE(sentence().contains("80 rows")) << sentence().toStdString();
  EXPECT_TRUE(content(path("old.steps.csv")).startsWith("rank,step,start_ms,step_ms,"));
}

TEST_F(ExportTest, HtaGetsAFolderWithAFileARankAndTheOverlapIsSaid) {
  openFinishedRun();
  ui::ExportDialog* dialog = ask();
  click(in<QRadioButton>(dialog, "exportHta"));
  auto* file = in<QLineEdit>(dialog, "exportPath");
  ASSERT_TRUE(waitUntil([&] { return file->text() == path("old-hta"); }));
  EXPECT_FALSE(in<QCheckBox>(dialog, "exportPacked")->isEnabled());
  click(in<QPushButton>(dialog, "exportGo"));
  EXPECT_TRUE(sentence().contains("Rank 1: overlap ")) << sentence().toStdString();
  EXPECT_EQ(QDir(path("old-hta")).entryList(QDir::Files),
            QStringList({"old.rank0.json", "old.rank1.json"}));
}

TEST_F(ExportTest, ThePictureIsThatOfTheViewInFront) {
  openFinishedRun();
  ui::ExportDialog* dialog = ask();
  auto* choice = in<QRadioButton>(dialog, "exportView");
  EXPECT_TRUE(choice->text().endsWith("Timeline")) << choice->text().toStdString();
  click(choice);
  ASSERT_TRUE(waitUntil([&] { return choice->isChecked(); }));
  click(in<QPushButton>(dialog, "exportGo"));
  EXPECT_EQ(sentence(), "Saved " + path("old.png") + ".");
  EXPECT_GT(QImage(path("old.png")).width(), 100);
}

TEST_F(ExportTest, AMarkedRangeIsExportedAlone) {
  openFinishedRun();
  ui::RunSession& session = *window().session();
  const auto step = session.model()->step(0, 20);
  ASSERT_TRUE(step.has_value());
  session.state()->setFilter(ui::TimeRange{step->startNs + 1e6, step->endNs - 1e6});
  ui::ExportDialog* dialog = ask();
  EXPECT_TRUE(in<QCheckBox>(dialog, "exportMarked")->isChecked());
  ui::ExportRequest request = dialog->request();
  request.what = ui::ExportRequest::What::kTable;
  request.table = "steps";
  request.path = path("marked.csv");
  input_.key(tests::kKeyEscape);
  window().findChild<ui::ExportController*>()->begin(request);
  EXPECT_TRUE(sentence().contains("2 rows")) << sentence().toStdString();
  EXPECT_TRUE(content(path("marked.csv")).contains("\n1,20,"));
}

TEST_F(ExportTest, TheRunIsExportedThatWasOpenWhenTheDialogOpened) {
  openFinishedRun();
  const ui::ExportRequest request = ask()->request();
  input_.key(tests::kKeyEscape);
  EXPECT_EQ(request.run, path("old.lockstep"));
  const QString other = path("other.lockstep");
  ASSERT_TRUE(QFile::copy(path("old.lockstep"), other));
  window().openRun(other);
  ASSERT_EQ(window().session()->path(), other);
  ASSERT_TRUE(waitForState(RunState::kFinished)) << "else its file is missed as it goes";
  auto* controller = window().findChild<ui::ExportController*>();
  ui::ExportRequest picture = request;
  picture.what = ui::ExportRequest::What::kPicture;
  controller->begin(picture);
  EXPECT_EQ(sentence(), path("old.lockstep") + ": is not shown any more, and has no picture");
  ASSERT_TRUE(QFile::remove(other));  // what is read is the other file
  window().findChild<ui::MessageBar*>()->dismissAll();
  controller->begin(request);
  EXPECT_TRUE(sentence().startsWith("Saved " + path("old.json"))) << sentence().toStdString();
}

TEST_F(ExportTest, WhatCannotBeWrittenIsSaidBeforeItIsTried) {
  openFinishedRun();
  ui::ExportDialog* dialog = ask();
  auto* file = in<QLineEdit>(dialog, "exportPath");
  file->setText("/nowhere/at/all.json");
  EXPECT_FALSE(in<QPushButton>(dialog, "exportGo")->isEnabled());
  EXPECT_EQ(in<QLabel>(dialog, "exportNote")->text(), "There is no folder /nowhere/at.");
  file->setText(runs());
  EXPECT_FALSE(in<QPushButton>(dialog, "exportGo")->isEnabled());
  for (const QString& other : {path("old.lockstep"), QStringLiteral("/dev/null"), QString()}) {
    file->setText(other);
    EXPECT_FALSE(in<QPushButton>(dialog, "exportGo")->isEnabled()) << other.toStdString();
  }
  input_.key(tests::kKeyEscape);
  EXPECT_TRUE(waitUntil([&] { return window().findChild<ui::ExportDialog*>() == nullptr; }));
}

TEST_F(ExportTest, AFullDiskIsOneSentence) {
  openFinishedRun();
  window().findChild<ui::ExportController*>()->begin(
      {ui::ExportRequest::What::kTrace, {}, "/dev/full", path("old.lockstep")});
  EXPECT_EQ(sentence(), "/dev/full: cannot be written: No space left on device");
}

TEST_F(ExportTest, AReportIsOnePageForAnyBrowser) {
  openFinishedRun();
  window().findChild<ui::ExportController*>()->begin(
      {ui::ExportRequest::What::kReport, {}, path("page.html"), path("old.lockstep")});
  EXPECT_TRUE(sentence().endsWith(", opens in any browser."));
  EXPECT_TRUE(content(path("page.html")).startsWith("<!doctype html>"));
}

TEST_F(ExportTest, ACancelledExportLeavesNothing) {
  openFinishedRun();
  auto* controller = window().findChild<ui::ExportController*>();
  // A pipe that nobody reads yet holds the export until it is cancelled.
  const std::string pipe = path("pipe").toStdString();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  controller->begin({ui::ExportRequest::What::kTrace, {}, path("pipe"), path("old.lockstep")});
  EXPECT_TRUE(controller->busy());
  window().findChild<ui::MessageBar*>()->dismissAll();  // as another run does that is opened
  input_.key('e', {tests::kKeyControl});
  EXPECT_TRUE(waitUntil([&] { return !messages().empty(); })) << "it can still be cancelled";
  clickMessage("Cancel");
  EXPECT_TRUE(waitUntil([&] { return messages().contains("Cancelling the export…"); }));
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_TRUE(waitUntil([&] {
    std::array<char, 1 << 16> rest{};
    while (read(reader, rest.data(), rest.size()) > 0) {  // what the export had begun to write
    }
    return !controller->busy();
  }));
  EXPECT_EQ(sentence(), "The export was cancelled; nothing was written.");
  close(reader);
}

}  // namespace
}  // namespace lockstep
