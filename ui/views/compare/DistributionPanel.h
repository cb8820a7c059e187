#pragma once

#include <QWidget>
#include <memory>
#include <optional>

#include "ui/chart/DurationHistogram.h"
#include "ui/stage/CanvasPart.h"
#include "ui/table/TableView.h"
#include "ui/views/compare/CompareTables.h"

class QComboBox;

namespace lockstep::ui {

/// Overlaid histograms of the step time, or of any other span, of the runs compared, and their
/// percentiles as a table. [ui-thread]
class DistributionPanel : public CanvasPart<QWidget> {
  Q_OBJECT

 public:
  explicit DistributionPanel(QWidget* parent = nullptr);

  /// Null: nothing is compared.
  void showResult(std::shared_ptr<const CompareResult> result);
  /// What was forecast of a step of A; drawn where steps are shown.
  void setForecast(const std::optional<HistogramForecast>& forecast);

  [[nodiscard]] TableView* table() const { return table_; }
  [[nodiscard]] QComboBox* kinds() const { return kinds_; }

 private:
  void paintCanvas(DisplayList& list, QSizeF size) override;
  [[nodiscard]] QString headingAt(QPointF at) const override;
  [[nodiscard]] trace::EventKind kind() const;
  void fillKinds();
  void fillTable();
  void describe();

  std::shared_ptr<const CompareResult> result_;
  std::optional<HistogramForecast> forecast_;
  trace::EventKind chosen_ = trace::EventKind::kStep;  // stays while nothing is compared
  QComboBox* kinds_;
  TableView* table_;
};

/// Returns a frame of the runs' durations of one kind of span.
HistogramFrame histogramFrame(const CompareResult& result, trace::EventKind kind, QSizeF size,
                              const Palette& palette);

}  // namespace lockstep::ui
