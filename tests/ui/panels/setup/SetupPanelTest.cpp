#include "ui/panels/setup/SetupPanel.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QScrollArea>
#include <QTimer>
#include <QToolButton>
#include <fstream>

#include "engine/plugin/HookInfo.h"
#include "plugins/abi/include/lockstep/comm_hook.h"
#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/Screen.h"
#include "ui/panels/setup/FieldEditor.h"
#include "ui/panels/setup/FieldGroup.h"
#include "ui/panels/setup/ModelDescriber.h"

namespace lockstep::ui {
namespace {

using tests::waitUntil;

constexpr const char* kFile =
    "# Why this file is.\nname = \"e\"\n\n[model]\nlayers = [784, 64, 10]\n\n[ddp]\n"
    "bucket_cap_mb = 4  # small\n\n[train]\nsteps = 5\n";

/// A plugin with two hooks, as lockstep-hookscan describes it.
std::string description(const std::string& path) {
  plugin::HookParam density{.key = "density",
                            .label = "Density",
                            .help = "Share of the gradient that is sent.",
                            .unit = "",
                            .type = plugin::HookParam::Type::kReal,
                            .min = 0.001,
                            .max = 1,
                            .initial = 0.01,
                            .initialText = ""};
  plugin::HookInfo sparse;
  sparse.id = "sparse";
  sparse.name = "Sparse";
  sparse.vendor = "tests";
  sparse.version = "1";
  sparse.summary = "Sends a share.";
  sparse.caps = LOCKSTEP_CAP_INNER | LOCKSTEP_CAP_JOIN;
  sparse.dtypes = 1U << LOCKSTEP_F32;
  sparse.devices = 1U << LOCKSTEP_CPU;
  sparse.params = {density};
  plugin::HookInfo plain = sparse;
  plain.id = "plain";
  plain.caps = 0;
  plain.params = {};
  return plugin::toJson(plugin::PluginInfo{path, 0, {sparse, plain}});
}

// A form with programs of the test's own, driven by a real pointer and keyboard.
class SetupPanelTest : public testing::Test {
 protected:
  SetupPanelTest() {
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    setenv("LOCKSTEP_HOOKS", (folder_ / "plugins").c_str(), 1);
    const auto library = folder_.write("plugins/sparse.so", "no library at all");
    folder_.write("description.json", description(library.string()));
    panel_ = std::make_unique<SetupPanel>(SetupPaths{
        script(
            "lockstep-rank",
            R"(echo '{"parameters":[{"name":"w","shape":[64],"dtype":"float32","bytes":256}]}')"),
        script("lockstep-hookscan", "cat " + (folder_ / "description.json").string()),
        pathOf(folder_ / "drafts"), pathOf(folder_ / "shipped")});
    QObject::connect(panel_.get(), &SetupPanel::runRequested,
                     [this](const QString& path) { run_ = path; });
    panel_->resize(440, 760);
    panel_->show();
    panel_->activateWindow();
    EXPECT_TRUE(waitUntil([this] { return panel_->isActiveWindow(); }));
  }
  ~SetupPanelTest() override {
    panel_.reset();  // its thread reads the environment
    unsetenv("LOCKSTEP_HOOKS");
  }

  static QString pathOf(const std::filesystem::path& path) {
    return QString::fromStdString(path.string());
  }
  QString script(const std::string& name, const std::string& text) {
    const auto path = folder_.write(name, "#!/bin/sh\n" + text + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return pathOf(path);
  }
  void openFile(const char* text = kFile) {
    ASSERT_TRUE(panel_->open(pathOf(folder_.write("e.toml", text))));
  }
  template <typename T = FieldEditor>
  T* find(const QString& name) {
    T* found = panel_->findChild<T*>(name);
    EXPECT_NE(found, nullptr) << name.toStdString();
    return found;
  }
  FieldEditor* field(const char* key) { return find(QStringLiteral("field:") + key); }
  /// Types into a field by real keys, in place of what it holds.
  void type(const char* key, const std::string& text) {
    panel_->showKey(key);
    auto* line = field(key)->findChild<QLineEdit*>();
    const QPoint at = tests::middleOf(line);
    input_.click(at.x(), at.y());
    ASSERT_TRUE(waitUntil([&] { return line->hasFocus(); }));
    input_.key('a', {tests::kKeyControl});
    for (const char letter : text) {
      input_.key(static_cast<xcb_keysym_t>(letter));
    }
    ASSERT_TRUE(waitUntil([&] { return line->text().toStdString() == text; }))
        << line->text().toStdString();
    if (QApplication::activePopupWidget() != nullptr) {  // a completer's
      input_.key(tests::kKeyEscape);
      ASSERT_TRUE(waitUntil([] { return QApplication::activePopupWidget() == nullptr; }));
    }
  }
  void click(const QWidget* widget) {
    const QPoint at = tests::middleOf(widget);
    input_.click(at.x(), at.y());
  }
  /// Leaves the file that is open: what is asked then, the answers, and the one that is given.
  struct Leaving {
    QString question;
    QStringList answers;
    bool left = false;
  };
  Leaving leave(const QString& answer) {
    Leaving leaving;
    QTimer::singleShot(0, panel_.get(), [&] {
      auto* box = panel_->findChild<QMessageBox*>("setupUnsaved");
      leaving.question = box->text();
      QAbstractButton* pressed = nullptr;
      for (QAbstractButton* button : box->buttons()) {
        leaving.answers << button->text().remove('&');
        pressed = leaving.answers.back() == answer ? button : pressed;
      }
      pressed == nullptr ? box->reject() : pressed->click();
    });
    leaving.left = panel_->mayDiscard();
    leaving.answers.sort();
    return leaving;
  }
  QPushButton* runButton() { return find<QPushButton>("setupRun"); }
  QString reason() { return find<QLabel>("setupReason")->text(); }
  std::string text() { return panel_->draft().text().text(); }

  support::TemporaryFolder folder_;
  tests::XTestClient input_;
  std::unique_ptr<SetupPanel> panel_;
  QString run_;
};

TEST_F(SetupPanelTest, HasAFieldForEveryKeyOfTheSchemaWithHelpAndRange) {
  for (const experiment::Field& key : experiment::schema()) {
    if (key.key.starts_with("sweep.")) {
      continue;
    }
    auto* editor = field(key.key.c_str());
    ASSERT_NE(editor, nullptr);
    EXPECT_TRUE(editor->focusProxy()->toolTip().contains(QString::fromStdString(key.key)));
    EXPECT_FALSE(editor->focusProxy()->accessibleDescription().isEmpty());
  }
  EXPECT_EQ(rangeText(*experiment::findField("processes.world_size")),
            "An integer from 1 to 1024. Default: 2 ranks.");
}

TEST_F(SetupPanelTest, AWrongValueIsToldUnderItsFieldAndRunSaysWhyItIsDisabled) {
  openFile();
  ASSERT_TRUE(runButton()->isEnabled());
  type("ddp.bucket_cap_mb", "-3");
  EXPECT_EQ(field("ddp.bucket_cap_mb")->mistake(),
            "must be a number above 0 and up to 1048576, not -3");
  EXPECT_FALSE(runButton()->isEnabled());
  EXPECT_TRUE(runButton()->toolTip().contains("ddp.bucket_cap_mb: must be a number above 0"));
  EXPECT_TRUE(reason().contains("ddp.bucket_cap_mb: must be a number above 0"));
  tests::keep(input_.screenshot(), "setup-mistake");
  type("ddp.bucket_cap_mb", "3");
  EXPECT_TRUE(field("ddp.bucket_cap_mb")->mistake().isEmpty());
  EXPECT_TRUE(runButton()->isEnabled());
  EXPECT_EQ(panel_->draft().text().value("ddp.bucket_cap_mb"), "3");
}

TEST_F(SetupPanelTest, InTheNarrowestFormWhatAKeyMeansHasMostOfTheWidth) {
  panel_->resize(300, 760);
  openFile();
  for (const char* key : {"data.batch_size", "model.layers"}) {
    panel_->showKey(key);
    const FieldEditor* editor = field(key);
    const auto* help = editor->findChild<QLabel*>("help");
    EXPECT_TRUE(waitUntil([&] { return help->width() > editor->width() * 0.7; })) << key;
    EXPECT_FALSE(help->geometry().intersects(editor->focusProxy()->geometry())) << key;
  }
}

TEST_F(SetupPanelTest, AModelThatIsKnownLateTellsNoBucketsOfAFileWithAMistake) {
  const std::string told = folder_ / "told";
  ASSERT_EQ(mkfifo(told.c_str(), S_IRUSR | S_IWUSR), 0);
  std::fstream tell(told);  // for both: neither it nor the script waits to open it
  script("lockstep-rank", "read line < " + told + R"(
echo '{"parameters":[{"name":"w","shape":[64],"dtype":"float32","bytes":256}]}')");
  openFile();
  type("ddp.bucket_cap_mb", "-3");
  const auto* summary = find<QLabel>("bucketSummary");
  const QString mistakes = "The buckets can be told once the mistakes are mended.";
  EXPECT_EQ(summary->text(), mistakes);
  bool known = false;
  QObject::connect(find<ModelDescriber>({}), &ModelDescriber::changed, panel_.get(),
                   [&known] { known = true; });
  tell << "now" << std::endl;
  ASSERT_TRUE(waitUntil([&known] { return known; }));
  EXPECT_EQ(summary->text(), mistakes);
  type("ddp.bucket_cap_mb", "3");
  EXPECT_TRUE(summary->text().startsWith("1 bucket")) << summary->text().toStdString();
}

TEST_F(SetupPanelTest, RunsTheFileAsItIsOrADraftOfItsOwnThatIsTheSameExperiment) {
  openFile();
  click(runButton());
  ASSERT_TRUE(waitUntil([&] { return !run_.isEmpty(); }));
  EXPECT_EQ(run_, pathOf(folder_ / "e.toml"));
  type("data.batch_size", "8");
  click(runButton());
  ASSERT_TRUE(waitUntil([&] { return run_ != pathOf(folder_ / "e.toml"); }));
  EXPECT_EQ(run_, pathOf(folder_ / "drafts" / "e.toml"));
  const auto parsed = experiment::parseFile(run_.toStdString());
  EXPECT_TRUE(parsed.mistakes.empty());
  EXPECT_EQ(parsed.experiment, panel_->draft().parsed().experiment);
  EXPECT_EQ(support::readFile(folder_ / "e.toml"), kFile);
}

TEST_F(SetupPanelTest, AKeyThatIsSetCanBeResetAndAKeyLeftAloneIsMarkedAsDefault) {
  openFile();
  panel_->showKey("ddp.bucket_cap_mb");
  auto* reset = field("ddp.bucket_cap_mb")->findChild<QToolButton*>();
  ASSERT_TRUE(reset->isVisible());
  click(reset);
  ASSERT_TRUE(waitUntil([&] { return !panel_->draft().text().value("ddp.bucket_cap_mb"); }));
  EXPECT_FALSE(reset->isVisible());
  EXPECT_EQ(field("ddp.bucket_cap_mb")->findChild<QLineEdit*>()->text(), "25");
  EXPECT_EQ(text().find("[ddp]"), std::string::npos);
}

TEST_F(SetupPanelTest, UndoInAFieldIsTheFormsAndGivesTheFileBack) {
  openFile();
  type("ddp.bucket_cap_mb", "12");
  type("data.batch_size", "32");
  input_.key('z', {tests::kKeyControl});
  ASSERT_TRUE(waitUntil([&] { return !panel_->draft().text().value("data.batch_size"); }));
  EXPECT_EQ(panel_->draft().text().value("ddp.bucket_cap_mb"), "12");
  click(find<QToolButton>("setupUndo"));
  ASSERT_TRUE(waitUntil([&] { return text() == kFile; }));
  EXPECT_FALSE(find<QToolButton>("setupUndo")->isEnabled());
  EXPECT_FALSE(panel_->draft().isDirty());
}

TEST_F(SetupPanelTest, TheFilterShowsMatchingKeysOfEveryGroupAndSaysWhenThereAreNone) {
  auto* search = find<QLineEdit>("setupSearch");
  click(search);
  for (const char letter : std::string("ring")) {
    input_.key(static_cast<xcb_keysym_t>(letter));
  }
  ASSERT_TRUE(waitUntil([&] { return field("capture.ring_events")->isVisible(); }));
  EXPECT_FALSE(field("ddp.bucket_cap_mb")->isVisible());
  search->setText("no such key");
  bool said = false;
  for (const QLabel* label : panel_->findChildren<QLabel*>()) {
    said |= label->isVisible() && label->text() == "No key matches \"no such key\".";
  }
  EXPECT_TRUE(said);
  search->clear();
  EXPECT_TRUE(field("ddp.bucket_cap_mb")->isVisible());
  EXPECT_FALSE(field("capture.ring_events")->isVisible());
}

TEST_F(SetupPanelTest, EnterInTheFilterGoesToTheFirstKeyThatIsLeft) {
  openFile();
  panel_->find();
  for (const char letter : std::string("batch")) {
    input_.key(static_cast<xcb_keysym_t>(letter));
  }
  ASSERT_TRUE(waitUntil([&] { return !field("ddp.bucket_cap_mb")->isVisible(); }));
  input_.key(tests::kKeyReturn);
  ASSERT_TRUE(waitUntil(
      [&] { return field("data.batch_size")->isAncestorOf(QApplication::focusWidget()); }));
  input_.key('a', {tests::kKeyControl});
  input_.key('-');
  input_.key('1');
  EXPECT_TRUE(waitUntil([&] { return !field("data.batch_size")->mistake().isEmpty(); }));
}

TEST_F(SetupPanelTest, WhatTheRunFileKeepsIsChosenAmongTheKeysThatAreShownToAll) {
  openFile();
  panel_->findChild<FieldGroup*>("group:Capture")->setOpen(true);
  EXPECT_TRUE(field("capture.detail")->isVisible());
  EXPECT_TRUE(field("capture.limit_mb")->isVisible());
  auto* detail = field("capture.detail")->findChild<QComboBox*>();
  detail->setCurrentText("outliers");
  emit detail->textActivated("outliers");
  EXPECT_EQ(panel_->draft().text().value("capture.detail"), "\"outliers\"");
  EXPECT_FALSE(field("capture.ring_events")->isVisible()) << "of those who look for more";
}

TEST_F(SetupPanelTest, AChoiceShowsTheKeysThatHaveAMeaningForIt) {
  openFile();
  EXPECT_TRUE(field("model.layers")->isVisible());
  auto* kind = field("model.kind")->findChild<QComboBox*>();
  kind->setCurrentText("deep_linear");
  emit kind->textActivated("deep_linear");
  EXPECT_FALSE(field("model.layers")->isVisible());
  EXPECT_TRUE(field("model.depth")->isVisible());
  EXPECT_EQ(panel_->draft().text().value("model.kind"), "\"deep_linear\"");
}

TEST_F(SetupPanelTest, AWrongChoiceOfTheFileIsOfferedUntilAnotherIsChosen) {
  openFile("[model]\nkind = \"mpl\"\n");
  auto* kind = field("model.kind")->findChild<QComboBox*>();
  EXPECT_EQ(kind->currentText(), "mpl");
  kind->setCurrentText("deep_linear");
  emit kind->textActivated("deep_linear");
  EXPECT_EQ(kind->currentText(), "deep_linear");
  EXPECT_EQ(kind->findText("mpl"), -1);
}

TEST_F(SetupPanelTest, TheFilterTakesWordsInAnyOrderForFaultsAndSweepsToo) {
  openFile("[train]\nsteps = 5\n[sweep]\n\"ddp.bucket_cap_mb\" = [4]\n");
  auto* faults = panel_->findChild<FieldGroup*>("group:Faults");
  auto* sweep = panel_->findChild<FieldGroup*>("group:Sweep");
  auto* search = find<QLineEdit>("setupSearch");
  search->setText("cap bucket");
  EXPECT_TRUE(sweep->isVisible());
  search->setText("milliseconds faults");
  EXPECT_TRUE(faults->isVisible());
  EXPECT_FALSE(sweep->isVisible());
}

TEST_F(SetupPanelTest, AHooksParametersComeFromItsPlugin) {
  openFile();
  type("hook.name", "sparse");
  ASSERT_TRUE(waitUntil([&] {
    return panel_->findChild<FieldEditor*>("field:hook.density") != nullptr &&
           runButton()->isEnabled();
  })) << reason().toStdString();
  EXPECT_TRUE(field("hook.name")->findChild<QLineEdit*>()->hasFocus());
  type("hook.density", "2");
  ASSERT_TRUE(waitUntil([&] { return !field("hook.density")->mistake().isEmpty(); }));
  EXPECT_EQ(field("hook.density")->mistake(), "must be a number from 0.001 to 1, not 2");
  EXPECT_FALSE(runButton()->isEnabled());
  type("hook.density", "0.5");
  ASSERT_TRUE(waitUntil([&] { return runButton()->isEnabled(); }));
  EXPECT_NE(text().find("[hook]\nname = \"sparse\"\ndensity = 0.5\n"), std::string::npos) << text();
  tests::keep(input_.screenshot(), "setup-hook");
  type("hook.name", "plain");
  ASSERT_TRUE(waitUntil([&] { return runButton()->isEnabled(); }));
  EXPECT_FALSE(panel_->draft().text().value("hook.density"));
}

TEST_F(SetupPanelTest, AHookThatNoPluginHoldsIsToldUnderItsName) {
  openFile();
  type("hook.name", "spars");
  ASSERT_TRUE(waitUntil([&] { return !field("hook.name")->mistake().isEmpty(); }));
  EXPECT_EQ(field("hook.name")->mistake(), "there is no hook \"spars\"; did you mean sparse?");
}

TEST_F(SetupPanelTest, HooksAreChained) {
  openFile("[hook]\nname = \"sparse\"\n[train]\nsteps = 5\n");
  auto* add = find<QPushButton>("addInnerHook");
  ASSERT_TRUE(waitUntil([&] { return add->isVisible(); }));
  add->click();
  EXPECT_EQ(panel_->draft().text().value("hook.inner.name"), "\"allreduce\"");
  panel_->draft().edit("inner", [](auto& text) { text.set("hook.inner.name", "\"plain\""); });
  ASSERT_TRUE(waitUntil([&] { return runButton()->isEnabled(); })) << reason().toStdString();
  find<QPushButton>("removeInnerHook")->click();
  EXPECT_FALSE(panel_->draft().text().value("hook.inner.name"));
  EXPECT_TRUE(waitUntil(
      [&] { return panel_->findChild<FieldEditor*>("field:hook.inner.name") == nullptr; }));
}

TEST_F(SetupPanelTest, FaultsAreAddedChangedAndRemoved) {
  openFile();
  panel_->findChild<FieldGroup*>("group:Faults")->setOpen(true);
  auto* menu = find<QToolButton>("addFault")->menu();
  const auto add = [&](const QString& kind) {
    for (QAction* action : menu->actions()) {
      if (action->text() == kind) {
        action->trigger();
      }
    }
  };
  add("delay");
  add("kill");
  ASSERT_EQ(panel_->draft().text().faultCount(), 2U);
  EXPECT_TRUE(panel_->draft().mistakes().size() == 1) << reason().toStdString();
  EXPECT_TRUE(reason().contains("10 is not reached: the run has 5 steps"));
  auto faults = panel_->findChildren<FieldEditor*>("field:faults.step");
  ASSERT_EQ(faults.size(), 2);
  emit faults[1]->edited("3");
  EXPECT_TRUE(runButton()->isEnabled()) << reason().toStdString();
  EXPECT_FALSE(panel_->findChildren<FieldEditor*>("field:faults.milliseconds")[1]->isVisible());
  find<QToolButton>("removeFault0")->click();
  ASSERT_EQ(panel_->draft().text().faultCount(), 1U);
  EXPECT_EQ(panel_->draft().parsed().experiment.faults[0].kind, "kill");
}

TEST_F(SetupPanelTest, MistakesAreNeverOfferedToBeSavedOverAShippedExperiment) {
  const auto shipped = folder_.write("shipped/e.toml", kFile);
  ASSERT_TRUE(panel_->open(pathOf(shipped)));
  panel_->draft().setKey(*experiment::findField("ddp.bucket_cap_mb"), "-1");
  ASSERT_FALSE(panel_->draft().mistakes().empty());
  const Leaving asked = leave("Cancel");
  EXPECT_EQ(asked.question,
            "e.toml comes with Lockstep and stays as it is. Save the changes as a file of your "
            "own?");
  EXPECT_EQ(asked.answers, (QStringList{"Cancel", "Discard", "Save as…"}));
  EXPECT_FALSE(asked.left);
  EXPECT_TRUE(leave("Discard").left);
  QFile file(pathOf(shipped));
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_EQ(file.readAll().toStdString(), kFile);
}

TEST_F(SetupPanelTest, LeavingAFileOfOnesOwnAsksForItAndANewOneForAName) {
  openFile();
  panel_->draft().setKey(*experiment::findField("ddp.bucket_cap_mb"), "8");
  const Leaving asked = leave("Save");
  EXPECT_EQ(asked.question, "Save the changes to e.toml?");
  EXPECT_TRUE(asked.left);
  EXPECT_FALSE(panel_->draft().isDirty());
  panel_->newExperiment();
  panel_->draft().setKey(*experiment::findField("ddp.bucket_cap_mb"), "8");
  EXPECT_EQ(leave("Discard").question, "Save New experiment as a file of your own?");
}

TEST_F(SetupPanelTest, ACopyOfARunsExperimentIsANewOneCalledAfterIt) {
  experiment::Experiment run;
  run.name = "demo";
  run.train.steps = 5;
  run.ddp.bucketCapMb = 4;
  ASSERT_TRUE(panel_->editCopy(experiment::toToml(run), "demo"));
  EXPECT_EQ(panel_->draft().title(), "Copy of demo");
  EXPECT_TRUE(panel_->draft().path().isEmpty());
  EXPECT_EQ(QFileInfo(panel_->draft().placeForACopy()).fileName(), "Copy of demo.toml");
  EXPECT_EQ(panel_->draft().text().value("ddp.bucket_cap_mb"), "4");
  ASSERT_TRUE(waitUntil([&] { return runButton()->isEnabled(); })) << reason().toStdString();
  click(runButton());
  ASSERT_TRUE(waitUntil([&] { return !run_.isEmpty(); }));
  EXPECT_EQ(experiment::parseFile(run_.toStdString()).experiment.name, "demo");
  panel_->newExperiment();
  EXPECT_EQ(panel_->draft().title(), "New experiment");
}

TEST_F(SetupPanelTest, WhatNoFieldCanShowIsListedAndCanBeLeftOut) {
  openFile("[train]\nsteps = 5\nspeed = 7\n");
  auto* others = find<QLabel>("otherMistakes");
  EXPECT_TRUE(others->text().contains("e.toml:3:1: train.speed: unknown key"))
      << others->text().toStdString();
  emit others->linkActivated("train.speed");
  EXPECT_FALSE(others->isVisible());
  EXPECT_TRUE(runButton()->isEnabled());
}

TEST_F(SetupPanelTest, AFileThatIsNoTomlIsSaidSoAndNotChanged) {
  openFile("[train\nsteps = 5\n");
  EXPECT_TRUE(find<QLabel>("otherMistakes")->text().contains("not valid TOML"));
  EXPECT_FALSE(runButton()->isEnabled());
  EXPECT_FALSE(find<QScrollArea>("setupForm")->widget()->isEnabled());
}

TEST_F(SetupPanelTest, TheQueueTakesTheExperimentAsItStands) {
  openFile();
  panel_->queue().runStarted();
  type("data.batch_size", "8");
  click(find<QPushButton>("setupQueue"));
  ASSERT_TRUE(waitUntil([&] { return panel_->queue().files().size() == 1; }));
  type("data.batch_size", "16");
  click(find<QPushButton>("setupQueue"));
  ASSERT_TRUE(waitUntil([&] { return panel_->queue().files().size() == 2; }));
  const auto sizeIn = [&](int row) {
    return experiment::parseFile(panel_->queue().files()[row].toStdString())
        .experiment.data.batchSize;
  };
  EXPECT_EQ(sizeIn(0), 8);
  EXPECT_EQ(sizeIn(1), 16);
}

TEST_F(SetupPanelTest, AReasonOfTheWindowsHoldsBackRunButNotTheQueue) {
  openFile();
  panel_->blockRun("A run goes on.");
  EXPECT_FALSE(runButton()->isEnabled());
  EXPECT_TRUE(runButton()->toolTip().contains("A run goes on."));
  EXPECT_TRUE(find<QPushButton>("setupQueue")->isEnabled());
  panel_->blockRun({});
  EXPECT_TRUE(runButton()->isEnabled());
}

TEST_F(SetupPanelTest, ASweepRunsThroughTheQueueEachRunAsAFileOfItsOwn) {
  openFile();
  panel_->queue().runStarted();
  panel_->findChild<FieldGroup*>("group:Sweep")->setOpen(true);
  panel_->draft().edit("vary", [](auto& text) { text.set("sweep.ddp.bucket_cap_mb", "[4]"); });
  auto* values = find<QLineEdit>("axis:ddp.bucket_cap_mb");
  EXPECT_EQ(values->text(), "4");
  emit values->textEdited("1, 0.5");
  EXPECT_EQ(panel_->draft().text().value("sweep.ddp.bucket_cap_mb"), "[1, 0.5]");
  ASSERT_TRUE(waitUntil([&] { return runButton()->isEnabled(); })) << reason().toStdString();
  EXPECT_EQ(runButton()->text(), "Run all 2");
  click(runButton());
  ASSERT_TRUE(waitUntil([&] { return panel_->queue().files().size() == 2; }));
  tests::keep(input_.screenshot(), "setup-sweep");
  EXPECT_TRUE(run_.isEmpty());
  const auto second = experiment::parseFile(panel_->queue().files()[1].toStdString());
  EXPECT_TRUE(second.mistakes.empty());
  EXPECT_EQ(second.experiment.ddp.bucketCapMb, 0.5);
  EXPECT_EQ(second.experiment.name, "e bucket_cap_mb=0.5");
  EXPECT_EQ(second.experiment.sweep.run, "bucket_cap_mb=0.5");
}

TEST_F(SetupPanelTest, ASweepOfOneValueIsCheckedBeforeItRunsToo) {
  openFile("[train]\nsteps = 5\n[sweep]\n\"ddp.bucket_cap_mb\" = [4]\n");
  EXPECT_EQ(reason(), "Checking the runs of the sweep…");
  EXPECT_TRUE(find<QLabel>("aboutSweep")->text().startsWith("One run with these values."));
  panel_->run();  // no plugin has answered yet
  EXPECT_TRUE(run_.isEmpty());
  ASSERT_TRUE(waitUntil([&] { return runButton()->isEnabled(); })) << reason().toStdString();
  panel_->draft().edit("vary", [](auto& text) { text.set("sweep.ddp.bucket_cap_mb", "[8]"); });
  panel_->run();  // the answer is that for 4
  EXPECT_TRUE(run_.isEmpty());
  ASSERT_TRUE(waitUntil([&] { return runButton()->isEnabled(); })) << reason().toStdString();
  panel_->run();
  EXPECT_EQ(experiment::parseFile(run_.toStdString()).experiment.ddp.bucketCapMb, 8);
}

TEST_F(SetupPanelTest, AWrongValueOfASweepIsToldInItsRowAndNotUnderTheKey) {
  openFile("[train]\nsteps = 5\n[sweep]\n\"ddp.bucket_cap_mb\" = [1, -2]\n");
  const auto* row = find<QLineEdit>("axis:ddp.bucket_cap_mb")->parentWidget();
  auto* mistake = row->findChild<QLabel*>("mistake");
  ASSERT_TRUE(waitUntil([&] { return !mistake->isHidden(); }));
  EXPECT_TRUE(mistake->text().contains("not -2")) << mistake->text().toStdString();
  EXPECT_TRUE(field("ddp.bucket_cap_mb")->mistake().isEmpty());
  EXPECT_FALSE(runButton()->isEnabled());
}

TEST_F(SetupPanelTest, AFileThatIsStartedElsewhereRunsOnceItsHooksAreKnown) {
  const auto path = folder_.write("h.toml", "[hook]\nname = \"sparse\"\n[train]\nsteps = 5\n");
  panel_->openAndRun(pathOf(path));
  ASSERT_TRUE(waitUntil([&] { return !run_.isEmpty(); })) << reason().toStdString();
  EXPECT_EQ(run_, pathOf(path));
  run_.clear();
  panel_->openAndRun(pathOf(folder_.write("w.toml", "[train]\nsteps = 0\n")));
  ASSERT_TRUE(waitUntil([&] { return panel_->draft().title() == "w.toml"; }));
  EXPECT_FALSE(runButton()->isEnabled());
}

}  // namespace
}  // namespace lockstep::ui
