// A job of PyTorch from the window: the real `lockstep record`, and commands that attach as
// PyTorch's processes do without needing it (tests/engine/launch/fake_job.py).
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRadioButton>
#include <QSettings>
#include <QSpinBox>
#include <QTableView>
#include <cstdlib>

#include "tests/ui/shell/MainWindowFixture.h"
#include "ui/panels/setup/SetupPanel.h"
#include "ui/shell/RecordDialog.h"
#include "ui/shell/StepStrip.h"

namespace lockstep {
namespace {

using tests::waitUntil;
using trace::RunState;

class RecordJobTest : public tests::MainWindowFixture {
 protected:
  RecordJobTest() {
    programs_ = "";
    script_ = std::string(std::getenv("LOCKSTEP_SOURCE")) + "/tests/engine/launch/fake_job.py";
  }
  ~RecordJobTest() override {
    if (window_ && window_->session() != nullptr && window_->session()->model()->isLive()) {
      find<QAction>("stop")->trigger();
      waitUntil([this] { return !window_->session()->model()->isLive(); });
    }
    QSettings("lockstep", "studio").remove("recentJobs");
  }

  [[nodiscard]] QString here() const { return QString::fromStdString(folder_.path().string()); }
  ui::RecordDialog* dialog() {
    ui::RecordDialog* found = nullptr;
    waitUntil([&] {
      found = window().findChild<ui::RecordDialog*>();
      return found != nullptr && found->isVisible();
    });
    return found;
  }
  template <typename T>
  T* field(const char* name) {
    T* found = dialog()->findChild<T*>(name);
    EXPECT_NE(found, nullptr) << name;
    return found;
  }
  QString note() { return field<QLabel>("recordNote")->text(); }

  void type(const QString& text) {
    // Of a key the server is asked by what it writes without Shift.
    static const QString kShifted = QStringLiteral("~!@#$%^&*()_+{}|:\"<>?");
    static const QString kPlain = QStringLiteral("`1234567890-=[]\\;',./");
    for (const QChar c : text) {
      if (c == '\n') {
        input_.key(tests::kKeyReturn);
        continue;
      }
      const auto shifted = kShifted.indexOf(c);
      const bool shift = c.isUpper() || shifted >= 0;
      input_.key((shifted >= 0 ? kPlain[shifted] : c.toLower()).unicode(),
                 shift ? tests::XTestClient::Keys{tests::kKeyShift} : tests::XTestClient::Keys{});
    }
  }
  void write(QWidget* field, const QString& text) {
    click(field);
    ASSERT_TRUE(waitUntil([&] { return field->hasFocus(); }));
    input_.key('a', {tests::kKeyControl});
    type(text);
  }
  /// Opens the dialog with its key, fills it and starts the job.
  void start(const QString& command, const QString& variables = {}) {
    ASSERT_TRUE(waitUntil([this] { return find<QPushButton>("runFirst")->hasFocus(); }));
    input_.key('r', {tests::kKeyControl});
    write(field<QComboBox>("recordCommand")->lineEdit(), command);
    write(field<QLineEdit>("recordFolder"), here());
    if (!variables.isEmpty()) {
      write(field<QPlainTextEdit>("recordEnvironment"), variables);
    }
    auto* go = field<QPushButton>("recordGo");
    ASSERT_TRUE(waitUntil([&] { return go->isEnabled(); })) << note().toStdString();
    click(go);
  }
  [[nodiscard]] QString job(const QString& arguments) const {
    return "python3 " + QString::fromStdString(script_) + " " + arguments;
  }
  QStringList logLines() {
    const auto* model = find<QTableView>("logLines")->model();
    QStringList lines;
    for (int row = 0; row < model->rowCount(); ++row) {
      lines << model->index(row, model->columnCount() - 1).data().toString();
    }
    return lines;
  }

  std::string script_;
};

TEST_F(RecordJobTest, TheDialogSaysWhatIsMissingUntilTheJobCanBeStarted) {
  window();
  click(find<QPushButton>("recordJob"));
  auto* command = field<QComboBox>("recordCommand")->lineEdit();
  auto* go = field<QPushButton>("recordGo");
  ASSERT_TRUE(waitUntil([&] { return command->hasFocus(); }));
  EXPECT_FALSE(go->isEnabled());
  EXPECT_EQ(note(), "Write the command that starts the job.");
  type("sh 'x");
  EXPECT_TRUE(waitUntil([&] { return note() == "A ' is not closed."; })) << note().toStdString();
  type("'");
  EXPECT_TRUE(waitUntil([&] { return go->isEnabled(); }));
  EXPECT_EQ(note(), "The run is sh, in " + runs() + ".");
  write(field<QLineEdit>("recordFolder"), "/none");
  EXPECT_TRUE(waitUntil([&] { return note() == "There is no folder /none."; }));
  EXPECT_FALSE(go->isEnabled());
  tests::keep(input_.screenshot(), "record-dialog");
  input_.key(tests::kKeyEscape);
  EXPECT_TRUE(waitUntil([this] { return window().findChild<ui::RecordDialog*>() == nullptr; }));
}

TEST_F(RecordJobTest, AJobIsFollowedLiveAndStoppedAsARunOfTheEngineIs) {
  window();
  start(job("2 20 1:stay"));
  ASSERT_TRUE(waitForState(RunState::kRunning)) << messages().join(' ').toStdString();
  EXPECT_EQ(window().session()->model()->info().kind, trace::RunKind::kObserved);
  EXPECT_EQ(window().session()->name(), "fake_job");
  EXPECT_TRUE(waitUntil([this] { return logLines().contains("steps of rank 1: 0..19"); }));
  EXPECT_EQ(find<QLabel>("setupNote")->text(),
            "fake_job, which is open, is a job of PyTorch: it has no experiment to edit. What is "
            "below is another one.");
  input_.key(tests::kKeyF5, {tests::kKeyShift});
  ASSERT_TRUE(waitForState(RunState::kStopped));
  EXPECT_TRUE(waitUntil([this] {
    return messages().join(' ').contains("Stopped after iteration 19");
  })) << messages().join(' ').toStdString();
  EXPECT_TRUE(logLines().contains("stop: asked for by a command")) << "over the control socket";
}

TEST_F(RecordJobTest, AFailureOfTheJobIsShownAndRunAgainAsksWithItsCommand) {
  window();
  start(job("2 5 1:throw"), "GREETING=hello");
  ASSERT_TRUE(waitForState(RunState::kFailed)) << messages().join(' ').toStdString();
  EXPECT_TRUE(waitUntil([this] { return verdict().contains("boom"); })) << verdict().toStdString();
  EXPECT_FALSE(messages().join(' ').contains("boom")) << "it is said once";
  clickMessage("Run again with…");
  EXPECT_EQ(field<QComboBox>("recordCommand")->currentText(), job("2 5 1:throw"));
  EXPECT_EQ(field<QLineEdit>("recordFolder")->text(), here());
  EXPECT_EQ(field<QPlainTextEdit>("recordEnvironment")->toPlainText(), "GREETING=hello");
  EXPECT_EQ(field<QLabel>("recordHint")->text(),
            "The command of fake_job, as it was recorded from here last.");
  input_.key(tests::kKeyEscape);
  EXPECT_EQ(find<QAction>("repeat")->text().remove('&'), "Run again with…");
}

TEST_F(RecordJobTest, ARunOfAnotherMachineIsRunAgainByWhatItsFileSays) {
  const auto path = folder_ / "runs" / "job.lockstep";
  trace::RunInfo info;
  info.name = "theirs";
  info.kind = trace::RunKind::kObserved;
  info.command = "sh 'a file.sh'";
  info.environment["folder"] = "/elsewhere";
  tests::writeRunThatSays(path, info);
  window().openRun(QString::fromStdString(path.string()));
  ASSERT_TRUE(waitForState(RunState::kFinished));
  find<QAction>("repeat")->trigger();
  EXPECT_EQ(field<QComboBox>("recordCommand")->currentText(), "sh 'a file.sh'");
  EXPECT_EQ(note(), "There is no folder /elsewhere.");
  EXPECT_EQ(field<QLabel>("recordHint")->text(),
            "The command of theirs. Its variables are not in the run file.");
  input_.key(tests::kKeyEscape);
}

TEST_F(RecordJobTest, WhatNeverAttachedIsSaidWithTheOutputOfTheCommand) {
  window();
  start("sh -c 'echo one; printenv GREETING; pwd; exit 3'", "GREETING=hello\nOTHER=x");
  ASSERT_TRUE(waitUntil([this] { return !messages().isEmpty(); }));
  EXPECT_EQ(messages().front(),
            "sh ended with exit code 3 before any process of it had attached: nothing was "
            "recorded. Its last line: " +
                here() + ".");
  auto* log = find<QTableView>("logLines");
  EXPECT_TRUE(waitUntil([&] { return log->isVisible(); })) << "what it wrote is in sight";
  const QStringList lines = logLines();
  ASSERT_GE(lines.size(), 3);
  EXPECT_EQ(lines.mid(0, 3), (QStringList{"one", "hello", here()}));
  EXPECT_EQ(lines.count("one"), 1);
  EXPECT_TRUE(find<QWidget>("startPage")->isVisible());
  EXPECT_EQ(window().session(), nullptr);
  tests::keep(input_.screenshot(), "record-nothing");
  clickMessage("Change the job…");
  EXPECT_TRUE(field<QComboBox>("recordCommand")->currentText().startsWith("sh -c 'echo one;"));
  input_.key(tests::kKeyEscape);
}

TEST_F(RecordJobTest, WhatItWritesIsSeenBeforeItAttachesAndCancelEndsIt) {
  window();
  start("sh -c 'echo loading; exec sleep 600'");
  auto* strip = find<ui::StepStrip>("stepStrip");
  ASSERT_TRUE(waitUntil([&] { return strip->isVisible(); }));
  ASSERT_EQ(strip->progress().stages.size(), 3U);
  EXPECT_EQ(strip->progress().stages[1].name, "Attached");
  EXPECT_EQ(strip->progress().active(), 1U);
  EXPECT_TRUE(waitUntil([this] { return logLines() == QStringList{"loading"}; }));
  auto* comingUp = find<QWidget>("comingUp");
  EXPECT_TRUE(comingUp->findChild<QLabel*>()->text().startsWith("The command has started."));
  tests::keep(input_.screenshot(), "record-waiting");
  click(find<QPushButton>("cancelRun"));
  ASSERT_TRUE(waitUntil([this] {
    return messages() == QStringList{
                             "Stopped before any process of the command had attached: nothing was "
                             "recorded."};
  })) << messages().join(' ').toStdString();
  EXPECT_EQ(find<QTableView>("problemsTable")->model()->rowCount(), 0);
}

TEST_F(RecordJobTest, ReplicasAreComparedAsOftenAsTheDialogSaysAndNeverByDefault) {
  window();
  ASSERT_TRUE(waitUntil([this] { return find<QPushButton>("runFirst")->hasFocus(); }));
  input_.key('r', {tests::kKeyControl});
  write(field<QComboBox>("recordCommand")->lineEdit(),
        "sh -c 'echo every ${LOCKSTEP_CHECK_REPLICAS:-none}; exit 3'");
  write(field<QLineEdit>("recordFolder"), here());
  auto* replicas = field<QSpinBox>("recordReplicas");
  EXPECT_EQ(replicas->text(), "never");
  click(replicas);
  ASSERT_TRUE(waitUntil([&] { return replicas->hasFocus(); }));
  input_.key('a', {tests::kKeyControl});
  type("20");
  EXPECT_TRUE(waitUntil([&] { return replicas->text() == "every 20 iterations"; }))
      << replicas->text().toStdString();
  tests::keep(input_.screenshot(), "record-replicas");
  click(field<QPushButton>("recordGo"));
  EXPECT_TRUE(waitUntil([this] { return logLines().contains("every 20"); }));
  ASSERT_EQ(ui::Settings().recentJobs().size(), 1U);
  EXPECT_EQ(ui::Settings().recentJobs().front().checkReplicas, 20);
  ASSERT_TRUE(waitUntil([this] { return !messages().isEmpty(); }));
  clickMessage("Change the job…");
  EXPECT_EQ(field<QSpinBox>("recordReplicas")->value(), 20);
  input_.key(tests::kKeyEscape);
}

TEST_F(RecordJobTest, TheRunFileKeepsWhatTheDialogSaysUpToItsLimit) {
  window();
  ASSERT_TRUE(waitUntil([this] { return find<QPushButton>("runFirst")->hasFocus(); }));
  input_.key('r', {tests::kKeyControl});
  write(field<QComboBox>("recordCommand")->lineEdit(), job("2 20"));
  write(field<QLineEdit>("recordFolder"), here());
  auto* detail = field<QComboBox>("recordDetail");
  EXPECT_EQ(detail->currentText(), "All events");
  detail->setFocus();
  input_.key(tests::kKeyDown);
  EXPECT_TRUE(waitUntil([&] { return detail->currentText() == "Phases and collectives"; }));
  auto* limit = field<QSpinBox>("recordLimit");
  EXPECT_EQ(limit->text(), "as large as it gets");
  write(limit, "50");
  EXPECT_TRUE(waitUntil([&] { return limit->text() == "at most 50 MiB"; }))
      << limit->text().toStdString();
  tests::keep(input_.screenshot(), "record-detail");
  click(field<QPushButton>("recordGo"));
  ASSERT_TRUE(waitForState(RunState::kFinished)) << messages().join(' ').toStdString();
  EXPECT_EQ(window().session()->model()->info().environment.at("detail"), "steps");
  ASSERT_EQ(ui::Settings().recentJobs().size(), 1U);
  EXPECT_EQ(ui::Settings().recentJobs().front().detail, "steps");
  EXPECT_EQ(ui::Settings().recentJobs().front().limitMb, 50);
}

TEST_F(RecordJobTest, TheLastJobsAreOfferedWithoutTheirSecrets) {
  ui::Settings().addRecentJob({"sh first.sh", {"A=1"}, here(), false, "one"});
  ui::Settings().addRecentJob({"sh second.sh", {"HF_TOKEN=secret"}, here(), true, {}});
  window();
  input_.key('r', {tests::kKeyControl});
  auto* command = field<QComboBox>("recordCommand");
  EXPECT_EQ(command->currentText(), "sh second.sh");
  EXPECT_EQ(field<QPlainTextEdit>("recordEnvironment")->toPlainText(), "HF_TOKEN=");
  EXPECT_TRUE(note().startsWith("HF_TOKEN is empty: the studio keeps no keys"));
  click(command->lineEdit());
  input_.key(tests::kKeyDown);
  ASSERT_TRUE(waitUntil([&] { return command->currentText() == "sh first.sh"; }));
  EXPECT_EQ(field<QPlainTextEdit>("recordEnvironment")->toPlainText(), "A=1");
  EXPECT_TRUE(field<QRadioButton>("recordWatched")->isChecked());
  EXPECT_EQ(field<QLineEdit>("recordRun")->text(), "one");
  EXPECT_TRUE(field<QPushButton>("recordGo")->isEnabled());
  input_.key(tests::kKeyEscape);
}

}  // namespace
}  // namespace lockstep
