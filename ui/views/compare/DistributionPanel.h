#pragma once

#include <QWidget>
#include <memory>
#include <optional>

#include "ui/canvas/Canvas.h"
#include "ui/canvas/Palette.h"
#include "ui/chart/DurationHistogram.h"
#include "ui/table/TableView.h"
#include "ui/views/compare/CompareTables.h"

class QComboBox;

namespace lockstep::ui {

/// Overlaid histograms of the step time, or of any other span, of the runs compared, and their
/// percentiles as a table. [ui-thread]
class DistributionPanel : public QWidget, private CanvasClient {
  Q_OBJECT

 public:
  explicit DistributionPanel(QWidget* parent = nullptr);

  /// Null: nothing is compared.
  void showResult(std::shared_ptr<const CompareResult> result);
  void setTheme(Theme theme);

  [[nodiscard]] Canvas* canvas() const { return canvas_; }
  [[nodiscard]] TableView* table() const { return table_; }
  [[nodiscard]] QComboBox* kinds() const { return kinds_; }

 private:
  void paintCanvas(DisplayList& list, QSizeF size) override;
  void pointerMoved(const PointerInput& input) override;
  void pointerLeft() override;

  [[nodiscard]] trace::EventKind kind() const;
  void fillKinds();
  void fillTable();
  void describe();

  std::shared_ptr<const CompareResult> result_;
  trace::EventKind chosen_ = trace::EventKind::kStep;  // stays while nothing is compared
  QComboBox* kinds_;
  Canvas* canvas_;
  TableView* table_;
  std::optional<QPointF> pointer_;
  Theme theme_ = Theme::kLight;
};

/// Returns a frame of the runs' durations of one kind of span.
HistogramFrame histogramFrame(const CompareResult& result, trace::EventKind kind, QSizeF size,
                              const Palette& palette);

}  // namespace lockstep::ui
