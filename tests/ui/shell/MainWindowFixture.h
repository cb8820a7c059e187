#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QPushButton>
#include <memory>
#include <optional>

#include "engine/trace/Event.h"
#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/SampleRun.h"
#include "tests/ui/shell/Screen.h"
#include "ui/shell/Appearance.h"
#include "ui/shell/MainWindow.h"
#include "ui/panels/findings/VerdictCard.h"
#include "ui/shell/MessageBar.h"
#include "ui/shell/RunSession.h"
#include "ui/shell/Settings.h"
#include "ui/views/timeline/TimelineView.h"

namespace lockstep::tests {

inline constexpr const char* kExperiment =
    "name = \"demo\"\nshows = \"Two ranks learn digits.\"\n"
    "[train]\nsteps = 60\n";

// How long a double click may take where there are any.
inline constexpr int kDoubleClickMs = 2000;

// A studio of its own folders, driven by a real pointer and keyboard.
class MainWindowFixture : public testing::Test {
 protected:
  // Two clicks are a double click where a test says so alone: the first click of a test may come to
  // where the last one of the test before was, soon after it.
  MainWindowFixture() {
    QApplication::setDoubleClickInterval(0);
    folder_.write("experiments/first_steps/demo.toml", kExperiment);
    setenv("FAKE_LOCKSTEP_STEPS", "60", 1);
  }
  ~MainWindowFixture() override {
    ui::Settings().setTheme(ui::ThemeChoice::kSystem);
    ui::Settings settings;
    settings.setGeometry({});
    for (const char* layout : {"live", "analyse", "compare"}) {
      settings.setDocks(layout, {});
    }
    settings.setLayout({});
    settings.setLastSession({});
    settings.setRestoresSession(true);
    settings.setScale(100);
    settings.setInspectorOpens(true);
    settings.setRunsGroupBy({});
    settings.setVerdictIsFolded(false);
  }

  ui::MainWindow& window() {
    if (!window_) {
      appearance_ = std::make_unique<ui::Appearance>();
      appearance_->setChoice(ui::Settings().theme());
      window_ = std::make_unique<ui::MainWindow>(
          ui::StudioPaths{.experiments = QString::fromStdString((folder_ / "experiments").string()),
                          .runs = runs(),
                          .experiment = {},
                          .programs = tests::programs() + programs_},
          *appearance_);
      window_->show();
      window_->activateWindow();
      EXPECT_TRUE(waitUntil([this] { return window_->isActiveWindow(); }));
    }
    return *window_;
  }
  void closeWindow() {
    window_->close();
    window_.reset();
    appearance_.reset();
  }

  QString runs() const { return QString::fromStdString((folder_ / "runs").string()); }
  QString finishedRun(int steps = 40) {
    std::filesystem::create_directories(folder_ / "runs");
    const auto path = folder_ / "runs" / "old.lockstep";
    tests::writeFinishedRun(path, steps);
    return QString::fromStdString(path.string());
  }
  /// A finished run of three steps that says this of itself.
  QString runThatSays(const trace::RunInfo& info) {
    const auto path = folder_ / "runs" / (info.runId + ".lockstep");
    std::filesystem::create_directories(path.parent_path());
    tests::SampleRun run(path, 3);
    run.startUp();
    run.steps(3);
    run.setInfo(info);
    run.finish(trace::RunState::kFinished);
    return QString::fromStdString(path.string());
  }
  /// Shows an iteration, and waits for where rank 0's collective of a bucket of it is drawn.
  std::optional<QPoint> collectiveOnScreen(std::uint32_t step, int bucket) {
    ui::RunSession& session = *window().session();
    auto* timeline = window().findChild<ui::TimelineView*>();
    const int lane = ui::laneId(0, ui::LaneRole::kCommunication);
    std::optional<QPoint> at;
    session.showStep(step);
    waitUntil([&] {
      const ui::Lane* data = session.model()->lane(lane);
      for (int row = 0; row < static_cast<int>(data->rows.size()); ++row) {
        for (std::size_t i = 0; i < data->rows[row].size(); ++i) {
          const ui::Span span = session.model()->spanAt(lane, row, i);
          if (span.kind == trace::EventKind::kCollective && span.step == step &&
              span.bucket == bucket) {
            if (const auto middle = timeline->positionOf(span)) {
              at = timeline->mapToGlobal(middle->toPoint());
            }
          }
        }
      }
      return at.has_value();
    });
    return at;
  }
  bool waitForState(trace::RunState state) {
    return waitUntil([this, state] {
      return window().session() != nullptr && window().session()->model()->info().state == state &&
             window().session()->model()->isLoaded();
    });
  }
  template <typename T>
  T* find(const char* name) {
    T* found = window().findChild<T*>(name);
    EXPECT_NE(found, nullptr) << name;
    return found;
  }
  // Waits for a button of the messages above the stage, and presses it.
  void clickMessage(const QString& text) {
    QPushButton* button = nullptr;
    ASSERT_TRUE(waitUntil([&] {
      for (auto* candidate : find<QWidget>("messageBar")->findChildren<QPushButton*>()) {
        if (candidate->text() == text && candidate->isVisible()) button = candidate;
      }
      return button != nullptr;
    })) << text.toStdString();
    click(button);
  }
  void click(const QWidget* widget) {
    const QPoint at = tests::middleOf(widget);
    input_.click(at.x(), at.y());
  }
  void doubleClick(const QPoint& at) {
    QApplication::setDoubleClickInterval(kDoubleClickMs);
    input_.doubleClick(at.x(), at.y());
  }
  QStringList messages() { return find<ui::MessageBar>("messageBar")->texts(); }
  // How the card in front of the views begins.
  QString verdict() { return find<ui::VerdictCard>("verdictCard")->words().headline.text; }

  QString programs_ = "/fake";  // below the folder of the built ones
  support::TemporaryFolder folder_;
  tests::XTestClient input_;
  std::unique_ptr<ui::Appearance> appearance_;
  std::unique_ptr<ui::MainWindow> window_;
};

}  // namespace lockstep::tests
