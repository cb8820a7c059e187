#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QTest>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/model/DemoRun.h"
#include "tests/ui/views/RenderedViewFixture.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"

namespace lockstep::ui {

/// A view of an analysed run. The mouse is sent to its canvas: the one pointer of the X server is
/// shared with other tests.
template <typename View>
class AnalysedViewFixture : public RenderedViewFixture<View> {
 protected:
  static constexpr int kPatienceMs = 30'000;
  using RenderedViewFixture<View>::view_;

  /// Opens the made-up run and waits until the view shows what the analysis says of it.
  void openDemo(const std::function<bool()>& shown, const test::DemoOptions& options = {}) {
    const auto path = folder_ / ("demo " + std::to_string(++opened_) + ".lockstep");
    const base::Status written = test::writeDemoRun(path, options);
    ASSERT_TRUE(written.ok());
    openFile(path, shown);
  }

  /// Opens a run file likewise.
  void openFile(const std::filesystem::path& path, const std::function<bool()>& shown) {
    model_ = std::make_unique<RunModel>(path);
    analyser_ = std::make_unique<RunAnalyser>(*model_);
    view_->setRun({model_.get(), &state_, analyser_.get()});
    ASSERT_TRUE(QTest::qWaitFor(shown, kPatienceMs));
    QSignalSpy painted(view_.get(), &View::framePainted);
    view_->canvas()->repaintSoon();
    ASSERT_TRUE(QTest::qWaitFor([&] { return !painted.isEmpty(); }, kPatienceMs));
  }

  QWidget* surface() { return view_->canvas()->childAt(view_->canvas()->rect().center()); }

  void send(QEvent::Type type, QPointF at, Qt::MouseButtons buttons) {
    QMouseEvent event(type, at, surface()->mapToGlobal(at),
                      type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton, buttons,
                      Qt::NoModifier);
    QApplication::sendEvent(surface(), &event);
  }
  void click(QPointF at) {
    send(QEvent::MouseButtonPress, at, Qt::LeftButton);
    send(QEvent::MouseButtonRelease, at, Qt::NoButton);
  }

  support::TemporaryFolder folder_;
  int opened_ = 0;
  std::unique_ptr<RunModel> model_;
  std::unique_ptr<RunAnalyser> analyser_;
  ViewState state_;
};

}  // namespace lockstep::ui
