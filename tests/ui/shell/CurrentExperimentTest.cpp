#include "ui/shell/CurrentExperiment.h"

#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QMessageBox>
#include <QTimer>

#include "engine/experiment/Parse.h"
#include "engine/experiment/Schema.h"
#include "tests/ui/shell/MainWindowFixture.h"
#include "ui/panels/setup/SetupPanel.h"

namespace lockstep {
namespace {

using tests::waitUntil;
using trace::RunState;

// The toolbar, Setup and Run are about the same experiment.
class CurrentExperimentTest : public tests::MainWindowFixture {
 protected:
  CurrentExperimentTest() {
    ui::Settings().setExperiment({});
    other_ = path(
        folder_.write("experiments/ddp/other.toml", "name = \"other\"\n[train]\nsteps = 20\n"));
  }
  ~CurrentExperimentTest() override { ui::Settings().setExperiment({}); }

  static QString path(const std::filesystem::path& file) {
    return QString::fromStdString(file.string());
  }
  ui::SetupPanel& setup() { return *window().findChild<ui::SetupPanel*>(); }
  QComboBox* box() { return find<QComboBox>("experimentBox"); }
  void choose(const QString& file) {
    const int row = box()->findData(file);
    box()->setCurrentIndex(row);
    Q_EMIT box()->activated(row);
  }
  void change(const char* key, const char* value) {
    setup().draft().setKey(*experiment::findField(key), value);
  }
  /// Answers the question about what is not saved, which comes next.
  void answer(QMessageBox::StandardButton button) {
    QTimer::singleShot(0, &setup(), [this, button] {
      auto* asked = setup().findChild<QMessageBox*>("setupUnsaved");
      ASSERT_NE(asked, nullptr);
      asked->button(button)->click();
    });
  }

  QString other_;
};

TEST_F(CurrentExperimentTest, TheFirstOfTheListStandsInSetupAndTheOneRunLastAtTheNextStart) {
  EXPECT_EQ(box()->currentText(), "demo");
  EXPECT_EQ(setup().draft().title(), "demo.toml");
  window().runExperiment(other_);
  ASSERT_TRUE(waitForState(RunState::kFinished));
  EXPECT_EQ(box()->currentText(), "ddp/other");
  closeWindow();
  EXPECT_EQ(box()->currentText(), "ddp/other");
  EXPECT_EQ(setup().draft().path(), other_);
}

TEST_F(CurrentExperimentTest, ChoosingOneShowsItAndRunStartsItAsItStandsThere) {
  window();
  choose(other_);
  EXPECT_EQ(setup().draft().path(), other_);
  EXPECT_TRUE(waitUntil([&] { return setup().isVisible(); }));
  change("ddp.bucket_cap_mb", "4");
  EXPECT_EQ(box()->currentText(), "ddp/other •");
  find<QAction>("run")->trigger();
  ASSERT_TRUE(waitForState(RunState::kFinished));
  const auto file = experiment::parseFile(folder_ / "runs" / "drafts" / "other.toml");
  EXPECT_EQ(file.experiment.ddp.bucketCapMb, 4) << "what is not saved counts";
  EXPECT_TRUE(setup().draft().isDirty()) << "and is still there";
}

TEST_F(CurrentExperimentTest, WhatIsNotSavedIsAskedForBeforeAnotherTakesItsPlace) {
  window();
  change("ddp.bucket_cap_mb", "4");
  answer(QMessageBox::Cancel);
  choose(other_);
  EXPECT_EQ(box()->currentText(), "demo •") << "the box goes back";
  answer(QMessageBox::Cancel);
  window().runExperiment(other_);
  EXPECT_EQ(setup().draft().title(), "demo.toml") << "nothing is started";
  EXPECT_EQ(window().session(), nullptr);
  answer(QMessageBox::Discard);
  choose(other_);
  EXPECT_EQ(box()->currentText(), "ddp/other");
}

TEST_F(CurrentExperimentTest, AnExperimentWithMistakesIsNotRunAndSaysWhy) {
  window();
  change("ddp.bucket_cap_mb", "-1");
  find<QAction>("run")->trigger();
  ASSERT_EQ(messages().size(), 1);
  EXPECT_TRUE(messages().front().startsWith("demo.toml cannot run: ddp.bucket_cap_mb: "))
      << messages().front().toStdString();
  EXPECT_TRUE(waitUntil([&] { return setup().isVisible(); }));
}

TEST_F(CurrentExperimentTest, ANewOneIsNamedInTheBoxAndLeavesNoTraceInItsList) {
  window();
  setup().newExperiment();
  EXPECT_EQ(box()->currentText(), "New experiment");
  EXPECT_EQ(box()->count(), 3);
  EXPECT_EQ(box()->itemData(2, Qt::ToolTipRole).toString(), "Not saved yet");
  choose(other_);
  EXPECT_EQ(box()->count(), 2);
}

}  // namespace
}  // namespace lockstep
