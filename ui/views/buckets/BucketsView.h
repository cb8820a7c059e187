#pragma once

#include <QElapsedTimer>
#include <QKeySequence>
#include <QList>
#include <QPointer>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "ui/canvas/Canvas.h"
#include "ui/views/RunView.h"
#include "ui/views/buckets/BucketsController.h"

class QLabel;
class QSplitter;
class QStackedLayout;
class QTimer;

namespace lockstep::ui {

class BucketsTable;
class BucketsToolbar;
class EmptyState;
class WhatIfPanel;

/// The stage "Buckets": which parameters share a bucket before and after the rebuild, in which
/// order their gradients became ready on each rank, what each bucket waited for, and a replay of
/// one iteration; with a table of the same. Shows the iteration of the view state, and of a run
/// that is followed live the last one that all ranks have ended. [ui-thread]
class BucketsView : public RunView, private CanvasClient {
  Q_OBJECT

 public:
  explicit BucketsView(QWidget* parent = nullptr);
  ~BucketsView() override;

  void setRun(const OpenRun& run) override;
  void setTheme(Theme theme) override;
  [[nodiscard]] QList<QAction*> viewActions() const override { return actions_; }

  [[nodiscard]] Canvas* canvas() const { return canvas_; }
  [[nodiscard]] const BucketsController* controller() const { return &controller_; }
  [[nodiscard]] bool isPlaying() const;

 public slots:
  /// Moves all views to the last iteration before the rebuild, or back to the one from where that
  /// was asked for.
  void showLayout(bool rebuilt);
  void setAgainst(OrderAgainst against);
  void setReplayPart(double part);
  void togglePlay();

 signals:
  /// The button of the empty stage: start the demo experiment.
  void demoRequested();
  /// A frame was painted.
  void framePainted();

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void paintCanvas(DisplayList& list, QSizeF size) override;
  void canvasPainted() override { emit framePainted(); }
  void pointerPressed(const PointerInput& input) override;
  void pointerMoved(const PointerInput& input) override;
  void pointerReleased(const PointerInput& input) override;
  void pointerDoubleClicked(const PointerInput& input) override;
  void pointerLeft() override;
  void wheelTurned(const WheelInput& input) override;

  void makeActions();
  void makeWhatIf();
  QAction* makeAction(const QString& text, const QList<QKeySequence>& keys,
                      const std::function<void()>& act);
  void refreshSoon();
  void refresh();
  void takeStory(std::shared_ptr<const BucketStory> story);
  void selectionChanged();
  void changed();
  void goToStep(std::uint32_t step);
  void moveIteration(int direction);
  void stepReplay(int direction);
  void playOn();
  [[nodiscard]] std::optional<std::uint32_t> wantedStep();
  [[nodiscard]] std::optional<std::uint32_t> lastFinishedStep() const;

  QPointer<RunModel> model_;
  QPointer<ViewState> state_;
  std::unique_ptr<BucketStories> stories_;
  BucketsController controller_;
  Theme theme_ = Theme::kLight;
  QList<QAction*> actions_;

  QStackedLayout* pages_ = nullptr;
  EmptyState* noRun_ = nullptr;
  EmptyState* nothing_ = nullptr;
  QWidget* content_ = nullptr;
  QWidget* stage_ = nullptr;  // toolbar and canvas: has the keys
  QLabel* banner_ = nullptr;
  BucketsToolbar* toolbar_ = nullptr;
  QSplitter* splitter_ = nullptr;
  Canvas* canvas_ = nullptr;
  BucketsTable* table_ = nullptr;
  WhatIfPanel* whatIf_ = nullptr;

  QTimer* refreshTimer_ = nullptr;
  QTimer* playTimer_ = nullptr;
  QElapsedTimer sinceFrame_;
  std::uint64_t spansSeen_ = 0;  // by the story shown
  std::optional<std::uint32_t> typical_;
  std::optional<std::uint32_t>
      returnStep_;  // from where the layout before the rebuild was asked for
  bool previewRebuilt_ = true;
};

}  // namespace lockstep::ui
