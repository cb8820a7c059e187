#include "ui/panels/hooks/LiveParametersPanel.h"

#include <gmock/gmock.h>

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>
#include <map>
#include <memory>
#include <mutex>

#include "ui/model/RunModel.h"
#include "ui/panels/hooks/HookChange.h"

namespace lockstep::ui {
namespace {

constexpr int kLivePatienceMs = 30'000;

class LiveParametersPanelTest : public testing::Test {
 protected:
  void open(trace::RunState state = trace::RunState::kRunning) {
    panel_ = std::make_unique<LiveParametersPanel>(
        [this](const auto&, const experiment::SettingChange& change) {
          const std::lock_guard lock(mutex_);
          sent_.push_back(change);
          return refusal_.empty()
                     ? base::Status()
                     : base::Status(base::Error{base::ExitCode::kBadInput, refusal_, ""});
        },
        [](const trace::RunInfo&) {
          return base::Result<std::vector<LiveParameter>>(parameters());
        });
    setState(state);
    panel_->setRun(&model_);
    if (state == trace::RunState::kRunning) {
      ASSERT_TRUE(QTest::qWaitFor([this] { return panel_->count() == 2; }, kLivePatienceMs));
    }
  }

  static std::vector<LiveParameter> parameters() {
    plugin::HookParam density;
    density.key = "density";
    density.label = "Density";
    density.min = 0.001;
    density.max = 1;
    density.initial = 0.01;
    density.live = true;
    plugin::HookParam topology;
    topology.key = "topology";
    topology.label = "Topology";
    topology.type = plugin::HookParam::Type::kChoice;
    topology.choices = {"ring", "cube"};
    topology.initialText = "ring";
    topology.live = true;
    return {{"hook.density", "mine", density, 0.1}, {"hook.topology", "mine", topology, "ring"}};
  }

  void setState(trace::RunState state) {
    trace::RunUpdate update;
    update.info.emplace();
    update.info->state = state;
    update.info->experimentToml = "name = \"a\"";
    model_.applyUpdate(update);
  }

  void change(const std::string& key, const std::string& value) {
    trace::RunUpdate update;
    update.ranks = {trace::RankInfo{}};
    environment_[key] = value;
    update.ranks->front().environment = environment_;
    model_.applyUpdate(update);
  }

  void type(double value) {
    auto* box = density();
    box->setValue(value);
    emit box->editingFinished();
  }

  std::vector<experiment::SettingChange> sent() {
    const std::lock_guard lock(mutex_);
    return sent_;
  }

  QDoubleSpinBox* density() { return panel_->findChild<QDoubleSpinBox*>("hook.density"); }
  QString stateOf(const char* key) {
    return panel_->findChild<QLabel*>(QLatin1String(key) + QLatin1String(".state"))->text();
  }

  std::mutex mutex_;
  std::vector<experiment::SettingChange> sent_;
  std::string refusal_;
  std::map<std::string, std::string> environment_;  // of rank 0
  RunModel model_;
  std::unique_ptr<LiveParametersPanel> panel_;
};

TEST_F(LiveParametersPanelTest, HasAControlForEachParameterWithItsRangeAndValue) {
  open();
  ASSERT_NE(density(), nullptr);
  EXPECT_EQ(density()->value(), 0.1);
  EXPECT_EQ(density()->minimum(), 0.001);
  EXPECT_EQ(density()->maximum(), 1);
  EXPECT_TRUE(density()->toolTip().contains("a number from 0.001 to 1"));
  EXPECT_EQ(panel_->findChild<QComboBox*>("hook.topology")->currentText(), "ring");
  EXPECT_EQ(stateOf("hook.density"), "0.1 so far");
}

TEST_F(LiveParametersPanelTest, SendsAChangeAndSaysFromWhichStepItHolds) {
  open();
  type(0.05);
  EXPECT_EQ(stateOf("hook.density"), "asked for 0.05…");
  ASSERT_TRUE(QTest::qWaitFor([this] { return !sent().empty(); }, kLivePatienceMs));
  EXPECT_EQ(sent()[0], (experiment::SettingChange{"hook.density", "0.05"}));
  change("set.812.hook.density", "0.05");
  EXPECT_TRUE(QTest::qWaitFor([this] { return stateOf("hook.density") == "0.05 from step 812 on"; },
                              kLivePatienceMs));
}

TEST_F(LiveParametersPanelTest, AChoiceIsSentAsAText) {
  open();
  auto* box = panel_->findChild<QComboBox*>("hook.topology");
  box->setCurrentIndex(1);
  emit box->textActivated("cube");
  ASSERT_TRUE(QTest::qWaitFor([this] { return !sent().empty(); }, kLivePatienceMs));
  EXPECT_EQ(sent()[0], (experiment::SettingChange{"hook.topology", "\"cube\""}));
}

TEST_F(LiveParametersPanelTest, LeavingTheBoxUnchangedSendsNothing) {
  open();
  emit density()->editingFinished();
  EXPECT_EQ(stateOf("hook.density"), "0.1 so far");
  type(0.2);
  ASSERT_TRUE(QTest::qWaitFor([this] { return !sent().empty(); }, kLivePatienceMs));
  EXPECT_EQ(sent().size(), 1u);
}

TEST_F(LiveParametersPanelTest, LeavingTheBoxOfAValueWithManyDigitsSendsNothing) {
  open();
  change("set.7.hook.density", "0.00123456789");
  ASSERT_TRUE(
      QTest::qWaitFor([this] { return stateOf("hook.density") == "0.00123456789 from step 7 on"; },
                      kLivePatienceMs));
  emit density()->editingFinished();
  EXPECT_EQ(stateOf("hook.density"), "0.00123456789 from step 7 on");
  EXPECT_EQ(density()->text(), "0.00123456789");
  type(0.1 + 0.2);
  ASSERT_TRUE(QTest::qWaitFor([this] { return !sent().empty(); }, kLivePatienceMs));
  EXPECT_EQ(sent()[0], (experiment::SettingChange{"hook.density", "0.3"}));
}

TEST_F(LiveParametersPanelTest, ARefusedChangeIsASentenceAndTheOldValueComesBack) {
  open();
  refusal_ = "this run takes no commands";
  QSignalSpy failed(panel_.get(), &LiveParametersPanel::failed);
  type(0.5);
  ASSERT_TRUE(QTest::qWaitFor([&] { return failed.count() == 1; }, kLivePatienceMs));
  EXPECT_EQ(failed[0][0].toString(), "this run takes no commands");
  EXPECT_EQ(density()->value(), 0.1);
  EXPECT_EQ(stateOf("hook.density"), "0.1 so far");
}

TEST_F(LiveParametersPanelTest, AChangeThatSomebodyElseMadeIsShown) {
  open();
  change("set.7.hook.density", "0.3");
  EXPECT_TRUE(QTest::qWaitFor([this] { return density()->value() == 0.3; }, kLivePatienceMs));
}

TEST_F(LiveParametersPanelTest, IsGoneWhenTheRunHasEnded) {
  open();
  EXPECT_FALSE(panel_->isHidden());
  setState(trace::RunState::kFinished);
  EXPECT_TRUE(QTest::qWaitFor([this] { return panel_->isHidden(); }, kLivePatienceMs));
  EXPECT_EQ(panel_->count(), 0u);
}

TEST_F(LiveParametersPanelTest, IsNotThereForARunThatHasEnded) {
  open(trace::RunState::kFinished);
  EXPECT_TRUE(panel_->isHidden());
}

TEST(HookChangeTest, AreReadFromWhatRank0SaysInTheOrderOfTheirSteps) {
  trace::RankInfo rank;
  rank.environment = {{"set.112.hook.density", "0.5"},
                      {"set.12.hook.inner.mode", "\"fast\""},
                      {"set.x.hook.density", "1"},
                      {"threads", "2"}};
  const auto changes = hookChangesOf({rank});
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].key, "inner.mode");
  EXPECT_EQ(changes[0].value, "fast");
  EXPECT_EQ(changes[0].step, 12u);
  EXPECT_EQ(changes[1].value, "0.5");
}

TEST(HookChangeTest, OfARunWithoutRank0ThereIsNone) {
  EXPECT_TRUE(hookChangesOf({}).empty());
}

TEST(LiveParametersTest, NumbersTextsAndSwitchesAreSentAsJson) {
  plugin::HookParam param;
  EXPECT_EQ(jsonOf(param, 0.05), "0.05");
  param.type = plugin::HookParam::Type::kInteger;
  EXPECT_EQ(jsonOf(param, 4.0), "4");
  param.type = plugin::HookParam::Type::kBool;
  EXPECT_EQ(jsonOf(param, 1.0), "1.0");
  EXPECT_EQ(textOf(param, 1.0), "on");
  param.type = plugin::HookParam::Type::kText;
  EXPECT_EQ(jsonOf(param, std::string("a \"b\"")), R"("a \"b\"")");
}

}  // namespace
}  // namespace lockstep::ui
