#include "ui/views/whatif/WhatIfView.h"

#include <QComboBox>
#include <QDir>
#include <QLabel>
#include <QPushButton>
#include <QTabBar>

#include "tests/ui/shell/MainWindowFixture.h"
#include "ui/shell/Stages.h"
#include "ui/views/compare/CompareView.h"
#include "ui/views/compare/DistributionPanel.h"
#include "ui/views/whatif/WhatIfControls.h"
#include "ui/views/whatif/WhatIfLinks.h"

namespace lockstep {
namespace {

using tests::waitUntil;
using trace::RunState;

// A forecast that is run from the window, and what came of it.
class WhatIfTest : public tests::MainWindowFixture {
 protected:
  ui::WhatIfView& view() { return *window().findChild<ui::WhatIfView*>(); }
  QString said(const char* name) { return find<QLabel>(name)->text(); }
};

TEST_F(WhatIfTest, TheKeyIInBucketsLeadsToIt) {
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  input_.key('3', {tests::kKeyControl});
  ASSERT_TRUE(waitUntil([&] { return find<ui::Stages>("stages")->current() == "buckets"; }));
  input_.key('i');
  EXPECT_TRUE(waitUntil([&] { return find<ui::Stages>("stages")->current() == "whatif"; }));
}

TEST_F(WhatIfTest, AForecastIsRunMeasuredAndKept) {
  const QString before = finishedRun();
  window().openRun(before);
  ASSERT_TRUE(waitForState(RunState::kFinished));
  input_.key('9', {tests::kKeyControl});
  ASSERT_TRUE(waitUntil([&] { return find<ui::Stages>("stages")->current() == "whatif"; }));
  ASSERT_TRUE(waitUntil([&] { return view().told() != nullptr && view().told()->known(); }));
  auto* links = view().controls()->links()->links();
  links->setCurrentIndex(1);
  Q_EMIT links->activated(1);
  ASSERT_TRUE(waitUntil([&] { return view().controls()->runButton()->isEnabled(); }));
  tests::keep(input_.screenshot(), "whatif");
  const std::size_t kept = view().history().forecasts().size();
  click(view().controls()->runButton());
  ASSERT_TRUE(waitUntil([&] { return view().history().forecasts().size() == kept + 1; }));
  EXPECT_EQ(QDir(runs() + "/drafts").entryList({"*.toml"}),
            QStringList("demo-link-ethernet_10g_8.toml"));
  ASSERT_TRUE(waitUntil(
      [&] { return window().session() != nullptr && window().session()->path() != before; }));
  ASSERT_TRUE(waitForState(RunState::kFinished));
  ASSERT_TRUE(
      waitUntil([&] { return said("whatIfBeside").startsWith("The open run tried a forecast"); }));
  EXPECT_TRUE(view().history().forecasts().back().measured);
  clickMessage("Compare with demo");
  EXPECT_TRUE(waitUntil([&] { return find<ui::Stages>("stages")->current() == "compare"; }));
  auto* compare = window().findChild<ui::CompareView*>();
  EXPECT_EQ(compare->otherTabs()->count(), 1);
  EXPECT_TRUE(waitUntil([&] { return compare->distribution()->isVisible(); }))
      << "where the forecast is drawn beside what was measured";
  EXPECT_TRUE(said("compareForecast").startsWith("The open run tried a forecast"))
      << said("compareForecast").toStdString();
}

}  // namespace
}  // namespace lockstep
