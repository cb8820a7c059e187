#pragma once

#include <QPointer>
#include <QWidget>
#include <memory>
#include <optional>

#include "ui/canvas/Canvas.h"
#include "ui/canvas/Palette.h"
#include "ui/model/ViewState.h"
#include "ui/stage/OpenRun.h"
#include "ui/views/divergence/DivergenceFacts.h"

class QHBoxLayout;
class QSplitter;

namespace lockstep::ui {

/// A tab of the divergence view: a bar, a canvas, and under it what belongs to it. [ui-thread]
class DivergenceTab : public QWidget, protected CanvasClient {
  Q_OBJECT

 public:
  explicit DivergenceTab(const QString& name, QWidget* parent = nullptr);

  /// The run that is open; forgets what was shown of another.
  virtual void setRun(const OpenRun& run);
  /// Null: not known yet.
  virtual void setFacts(std::shared_ptr<const DivergenceFacts> facts);
  void setTheme(Theme theme);
  /// The selection of the view state moved.
  virtual void selectionChanged() = 0;

  [[nodiscard]] Canvas* canvas() const { return canvas_; }
  /// Fills a list with the frame as it would be painted now.
  void drawInto(DisplayList& list) { paintCanvas(list, canvas_->size()); }

 signals:
  /// Somebody sees this tab: its facts are wanted.
  void painted();
  /// The user wants to see the selection in the timeline.
  void timelineRequested();

 protected:
  void paintCanvas(DisplayList& list, QSizeF size) final;
  void canvasPainted() final;
  void pointerMoved(const PointerInput& input) override;
  void pointerLeft() override;

  /// Draws when there are facts.
  virtual void paintFacts(DisplayList& list, QSizeF size) = 0;
  /// Returns what a screen reader says.
  [[nodiscard]] virtual QString description() const = 0;
  /// Selects a recorded span everywhere; does nothing while the model does not hold it.
  void select(int rank, const trace::SpanRow& row);
  void repaintSoon() { canvas_->repaintSoon(); }

  [[nodiscard]] QHBoxLayout* bar() { return bar_; }
  [[nodiscard]] QSplitter* splitter() { return splitter_; }
  [[nodiscard]] const Palette& colours() const { return Palette::of(theme_); }

  OpenRun run_;
  std::shared_ptr<const DivergenceFacts> facts_;
  std::optional<QPointF> pointer_;

 private:
  Theme theme_ = Theme::kLight;
  QHBoxLayout* bar_;
  QSplitter* splitter_;
  Canvas* canvas_;
};

}  // namespace lockstep::ui
