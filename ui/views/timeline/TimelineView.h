#pragma once

#include <QElapsedTimer>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "ui/model/BackgroundJob.h"
#include "ui/model/SpanFinder.h"
#include "ui/stage/RunView.h"
#include "ui/stage/Steered.h"
#include "ui/views/timeline/EventToPixel.h"
#include "ui/views/timeline/NoteEditor.h"
#include "ui/views/timeline/TimelineController.h"

namespace lockstep::ui {

class CounterMenu;
class CounterPanel;
class FindLine;
class TimelineBar;
class TimelineOverview;

/// The timeline of a run: an overview of the whole run, all ranks together (World), and the lanes
/// of each rank over time. Reads its model and view state, changes only the view state and the
/// notes beside the run. Draws through a Canvas, on GL or raster. [ui-thread]
class TimelineView : public Steered<RunView, TimelineMouse> {
  Q_OBJECT

 public:
  explicit TimelineView(QWidget* parent = nullptr);
  ~TimelineView() override;

  [[nodiscard]] RunModel* model() const { return model_; }
  [[nodiscard]] ViewState* state() const { return state_; }

  /// "GL (NVIDIA ...)" or "raster": for the status bar.
  [[nodiscard]] QString rendererName() const;
  /// From the end of an event to the frame that shows it, for spans that arrived live.
  [[nodiscard]] const LatencyHistogram& eventToPixel() const { return latency_.latency(); }

  /// The middle of a span's bar in coordinates of this widget, for tests and tours; nothing
  /// when it is not visible.
  [[nodiscard]] std::optional<QPointF> positionOf(const Span& span) const;
  /// Pixels to time, for tests and linked views.
  [[nodiscard]] TimeAxis axis() const { return controller_.axis(); }
  [[nodiscard]] const TimelineController* controller() const { return &controller_; }
  /// Fills a list with the frame as it would be painted now.
  void drawInto(DisplayList& list) { paintCanvas(list, canvas_->size()); }
  /// Shows an iteration in the middle.
  void goToIteration(std::uint32_t iteration);

  [[nodiscard]] TimelineOverview* overview() const { return overview_; }
  [[nodiscard]] Annotations& annotations() { return notes_->notes(); }
  [[nodiscard]] const SpanFinder& finder() const { return finder_; }
  [[nodiscard]] bool isFrozen() const { return frozen_; }
  /// Selects a span and scrolls and unfolds until it is in sight; nothing without a run.
  void reveal(const Span& span);
  /// Opens the line for searching with this text; without one, with what it had.
  void find(const QString& text = QString());

 signals:
  /// Notes cannot be read or saved; one sentence for the list of problems.
  void problem(const QString& sentence);
  /// What was recorded in this stretch is wanted in a file.
  void exportRangeRequested(TimeRange range);
  /// All that a query asks for (see SpanQuery) is wanted in a list.
  void findAllRequested(const QString& query);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  friend class TimelineMenu;

  void runChanged() override;
  void themeChanged() override;
  [[nodiscard]] bool takesKeys() const override;
  void acted() override { changedByUser(); }
  void paintCanvas(DisplayList& list, QSizeF size) override;
  [[nodiscard]] QString headingAt(QPointF at) const override;
  void canvasPainted() override;
  [[nodiscard]] TimelineMouse* steering() override {
    return controller_.ready() ? &controller_.mouse() : nullptr;
  }
  void steered() override { changedByUser(); }
  void pointerPressed(const PointerInput& input) override;
  void pointerReleased(const PointerInput& input) override;
  void pointerDoubleClicked(const PointerInput& input) override;

  void makeActions();
  void makeMoreActions();
  void makeRankActions();
  void makeCounterActions();
  void modelChanged();
  void modelLoaded();
  [[nodiscard]] TimeRange firstLook() const;
  void changedByUser();
  void updateScrollBar();
  void describe();
  void lookForUnlike();
  void paintEmptyState(DisplayList& list, QSizeF size) const;

  void setFrozen(bool frozen);
  void escape();
  void goToMatch(int direction);
  void showFound();
  void closeFind();
  void nextColouring();
  void goToView(int digit);
  void chooseDigit(bool storedOnly, const std::function<void(int)>& act);
  void goToTime(double ns);

  EventToPixel latency_;
  TimelineController controller_;
  QWidget* content_;
  TimelineOverview* overview_ = nullptr;
  TimelineBar* bar_ = nullptr;
  FindLine* findLine_ = nullptr;
  CounterMenu* counterMenu_ = nullptr;
  CounterPanel* counterPanel_ = nullptr;
  std::unique_ptr<NoteEditor> notes_;
  SpanFinder finder_;
  BackgroundJob unlikeJob_;
  QAction* ribbons_ = nullptr;
  bool frozen_ = false;
  bool followedBeforeFreeze_ = false;
  QElapsedTimer described_;
};

}  // namespace lockstep::ui
