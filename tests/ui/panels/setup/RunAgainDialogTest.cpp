#include "ui/panels/setup/RunAgainDialog.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "engine/experiment/Parse.h"
#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/Screen.h"
#include "ui/panels/setup/FieldEditor.h"

namespace lockstep::ui {
namespace {

using tests::waitUntil;

/// The dialog over a run of the test's own, with real keys.
class RunAgainDialogTest : public testing::Test {
 protected:
  RunAgainDialogTest() {
    setenv("LOCKSTEP_HOOKS", (folder_ / "plugins").c_str(), 1);
    run_.name = "demo";
    run_.train.steps = 40;
    run_.ddp.bucketCapMb = 4;
  }
  ~RunAgainDialogTest() override {
    dialog_.reset();
    unsetenv("LOCKSTEP_HOOKS");
  }

  void ask(const QString& blocked = {}) {
    dialog_ = std::make_unique<RunAgainDialog>(experiment::toToml(run_), "demo",
                                               pathOf(folder_ / "none"), blocked);
    QObject::connect(dialog_.get(), &QDialog::accepted, [this] { accepted_ = true; });
    dialog_->show();
    dialog_->activateWindow();
    ASSERT_TRUE(waitUntil([this] { return dialog_->isActiveWindow(); }));
  }
  static QString pathOf(const std::filesystem::path& path) {
    return QString::fromStdString(path.string());
  }
  FieldEditor* field(const char* key) {
    return dialog_->findChild<FieldEditor*>(QStringLiteral("field:") + key);
  }
  QPushButton* go() { return dialog_->findChild<QPushButton*>("runAgainGo"); }
  QString reason() { return dialog_->findChild<QLabel*>("runAgainReason")->text(); }

  support::TemporaryFolder folder_;
  tests::XTestClient input_;
  experiment::Experiment run_;
  std::unique_ptr<RunAgainDialog> dialog_;
  bool accepted_ = false;
};

TEST_F(RunAgainDialogTest, ANewCapIsTypedAtOnceAndEnterRunsIt) {
  ask();
  EXPECT_EQ(dialog_->windowTitle(), "Run demo again with…");
  auto* cap = field("ddp.bucket_cap_mb")->findChild<QLineEdit*>();
  ASSERT_TRUE(waitUntil([&] { return cap->hasFocus(); }));
  EXPECT_EQ(cap->text(), "4");
  input_.key('8');
  ASSERT_TRUE(waitUntil([&] { return cap->text() == "8"; })) << cap->text().toStdString();
  input_.key(tests::kKeyReturn);
  ASSERT_TRUE(waitUntil([&] { return accepted_; })) << reason().toStdString();
  const QString file = dialog_->write(pathOf(folder_ / "drafts"), [](const QString& sentence) {
    FAIL() << sentence.toStdString();
  });
  const auto after = experiment::parseFile(file.toStdString());
  ASSERT_TRUE(after.mistakes.empty()) << after.mistakes.front().message();
  EXPECT_EQ(after.experiment.ddp.bucketCapMb, 8);
  EXPECT_EQ(after.experiment.train.steps, 40);
  EXPECT_EQ(after.experiment.name, "demo");
}

TEST_F(RunAgainDialogTest, HasTheKeysThatPeopleChangeAsTheRunHadThem) {
  run_.processes.worldSize = 4;
  run_.data.batchSize = 16;
  ask();
  EXPECT_EQ(field("processes.world_size")->findChild<QLineEdit*>()->text(), "4");
  EXPECT_EQ(field("data.batch_size")->findChild<QLineEdit*>()->text(), "16");
  EXPECT_EQ(field("train.steps")->findChild<QLineEdit*>()->text(), "40");
  QWidget* keys = dialog_->findChild<QScrollArea*>()->viewport();
  for (const char* key : {"processes.backend", "link.preset", "link.bandwidth_gbps", "hook.name"}) {
    EXPECT_TRUE(field(key)->isVisible()) << key;
    const QRect place(field(key)->mapTo(keys, QPoint()), field(key)->size());
    EXPECT_TRUE(keys->rect().contains(place)) << key << " is in sight without scrolling";
  }
  EXPECT_FALSE(field("train.epochs")->isVisible()) << "the run had steps";
  const auto editorOf = [&](const char* key) -> QWidget* { return field(key)->focusProxy(); };
  const int width = editorOf("processes.world_size")->width();
  for (const char* key : {"processes.backend", "link.preset", "link.bandwidth_gbps",
                          "link.latency_us", "data.batch_size"}) {
    EXPECT_EQ(editorOf(key)->width(), width) << key << " is as wide as the others";
  }
  tests::keep(input_.screenshot(), "run-again");
}

TEST_F(RunAgainDialogTest, ALinkOfItsOwnBandwidthIsNoPreset) {
  run_.link.bandwidthGbps = 2;
  run_.link.latencyUs = 50;
  ask();
  const auto says = [&](const char* key, const QString& word) {
    for (const QLabel* label : field(key)->findChildren<QLabel*>()) {
      if (label->isVisible() && label->text() == word) {
        return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(says("link.preset", "Link preset"));
  EXPECT_EQ(field("link.preset")->findChild<QComboBox*>()->currentText(), "none");
  EXPECT_EQ(field("link.bandwidth_gbps")->findChild<QLineEdit*>()->text(), "2");
  EXPECT_TRUE(says("link.latency_us", "µs"));
}

TEST_F(RunAgainDialogTest, WhatIsWrongIsToldAndKeepsItFromRunning) {
  ask();
  dialog_->draft().setKey(*experiment::findField("processes.world_size"), "0");
  EXPECT_FALSE(go()->isEnabled());
  EXPECT_TRUE(reason().contains("processes.world_size: ")) << reason().toStdString();
  EXPECT_FALSE(field("processes.world_size")->mistake().isEmpty());
  ask("No lockstep program in /none");
  EXPECT_FALSE(go()->isEnabled());
  EXPECT_EQ(reason(), "No lockstep program in /none");
}

}  // namespace
}  // namespace lockstep::ui
