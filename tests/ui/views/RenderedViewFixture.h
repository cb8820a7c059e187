#pragma once

#include <gtest/gtest.h>

#include <QAction>
#include <QKeySequence>
#include <QTest>
#include <memory>
#include <string>

#include "ui/canvas/Canvas.h"

namespace lockstep::ui {

/// A view in a window of its own, by GL or raster as the parameter says.
template <typename View>
class RenderedViewFixture : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "gl" && !probeGl().usable) {
      GTEST_SKIP() << "no OpenGL here: " << probeGl().device.toStdString();
    }
    qputenv("LOCKSTEP_RENDERER", GetParam());
    view_ = std::make_unique<View>();
    view_->resize(1280, 800);
    view_->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(view_.get()));
  }

  void TearDown() override {
    view_.reset();
    qunsetenv("LOCKSTEP_RENDERER");
  }

  /// Triggers the view's action that has this key.
  void trigger(const QKeySequence& key) {
    for (QAction* action : view_->viewActions()) {
      if (action->shortcuts().contains(key)) {
        action->trigger();
        return;
      }
    }
    FAIL() << "no action has the key " << key.toString().toStdString();
  }
  void trigger(const char* key) { trigger(QKeySequence(QString::fromLatin1(key))); }

  std::unique_ptr<View> view_;
};

}  // namespace lockstep::ui
