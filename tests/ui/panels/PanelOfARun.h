#pragma once

#include <gtest/gtest.h>

#include <QTest>

#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"

namespace lockstep::ui::test {

/// A panel on the screen that can be given a run, and that works on what it shows beside the UI
/// thread: `settle` waits until it shows what was asked for.
template <typename Panel>
class PanelOfARun : public testing::Test {
 protected:
  void SetUp() override {
    panel_.resize(1200, 300);
    panel_.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&panel_));
  }

  void TearDown() override { panel_.setRun(nullptr, nullptr); }

  void open() {
    panel_.setRun(&model_, &state_);
    settle();
  }

  void settle() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return !panel_.busy(); }, 30'000));
  }

  RunModel model_;
  ViewState state_;
  Panel panel_;
};

}  // namespace lockstep::ui::test
