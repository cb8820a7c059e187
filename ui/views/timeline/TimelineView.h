#pragma once

#include <QElapsedTimer>
#include <QKeySequence>
#include <QList>
#include <QPointer>
#include <QWidget>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ui/canvas/Canvas.h"
#include "ui/canvas/Palette.h"
#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"
#include "ui/views/RunView.h"
#include "ui/views/timeline/LatencyHistogram.h"
#include "ui/views/timeline/TimelineController.h"

class QAction;
class QScrollBar;

namespace lockstep::ui {

/// The timeline of a run: lanes per rank over time. Reads its model and view state, changes
/// only the view state. Draws through a Canvas, on GL or raster. [ui-thread]
class TimelineView : public RunView, private CanvasClient {
  Q_OBJECT

 public:
  explicit TimelineView(QWidget* parent = nullptr);
  ~TimelineView() override;

  /// Neither is owned; null shows the empty state. Setting a model moves the view to its first
  /// typical iterations, or follows it when it is live.
  void setModel(RunModel* model);
  void setState(ViewState* state);
  void setRun(const OpenRun& run) override {
    setState(run.state);
    setModel(run.model);
  }
  void setTheme(Theme theme) override;

  [[nodiscard]] RunModel* model() const { return model_; }
  [[nodiscard]] ViewState* state() const { return state_; }

  /// The actions of the view with their keys (W/S, A/D, F, L, PgUp/PgDn, Home/End, Esc,
  /// `,` `.`, `[` `]`), for menus and the key sheet. They work while the view has focus.
  [[nodiscard]] QList<QAction*> viewActions() const override { return actions_; }

  /// "GL (NVIDIA ...)" or "raster": for the status bar.
  [[nodiscard]] QString rendererName() const;
  /// From the end of an event to the frame that shows it, for spans that arrived live.
  [[nodiscard]] const LatencyHistogram& eventToPixel() const { return latency_; }

  /// The middle of a span's bar in coordinates of this widget, for tests and tours; nothing
  /// when it is not visible.
  [[nodiscard]] std::optional<QPointF> positionOf(const Span& span) const;
  /// Pixels to time, for tests and linked views.
  [[nodiscard]] TimeAxis axis() const { return controller_.axis(); }
  [[nodiscard]] Canvas* canvas() const { return canvas_; }
  [[nodiscard]] const TimelineController* controller() const { return &controller_; }
  /// Fills a list with the frame as it would be painted now.
  void drawInto(DisplayList& list) { paintCanvas(list, canvas_->size()); }
  /// Shows an iteration in the middle.
  void goToIteration(std::uint32_t iteration);

 signals:
  /// A frame was painted; for the status bar.
  void framePainted();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void paintCanvas(DisplayList& list, QSizeF size) override;
  void canvasPainted() override;
  void pointerPressed(const PointerInput& input) override;
  void pointerMoved(const PointerInput& input) override;
  void pointerReleased(const PointerInput& input) override;
  void pointerDoubleClicked(const PointerInput& input) override;
  void pointerLeft() override;
  void wheelTurned(const WheelInput& input) override;

  void makeActions();
  void makeAction(const QString& text, const QList<QKeySequence>& keys,
                  const std::function<void()>& act);
  void modelChanged();
  void modelLoaded();
  [[nodiscard]] TimeRange firstLook() const;
  void changedByUser();
  void updateScrollBar();
  void describe();
  void paintEmptyState(DisplayList& list, QSizeF size) const;

  QPointer<RunModel> model_;
  QPointer<ViewState> state_;
  QList<QAction*> actions_;
  LatencyHistogram latency_;
  TimelineController controller_;
  Theme theme_ = Theme::kLight;
  Canvas* canvas_;
  QScrollBar* scrollBar_;
  QString failure_;
  std::vector<std::uint64_t> unpainted_;  // end ticks of live spans no frame has shown yet
  QElapsedTimer described_;
};

}  // namespace lockstep::ui
