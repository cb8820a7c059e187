#include "ui/views/compare/DistributionPanel.h"

#include <QComboBox>
#include <QHeaderView>
#include <set>
#include <utility>

#include "engine/trace/Event.h"
#include "ui/model/SpanFacts.h"
#include "ui/stage/Boxes.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {

HistogramFrame histogramFrame(const CompareResult& result, trace::EventKind kind, QSizeF size,
                              const Palette& palette) {
  HistogramFrame frame;
  frame.rect = QRectF(QPointF(0, 0), size).adjusted(10, 10, -16, -8);
  frame.none = QStringLiteral("No measured iteration has it.");
  for (std::size_t run = 0; run < result.runs.size(); ++run) {
    const auto at = result.distributions[run].find(kind);
    frame.runs.push_back({titleOfRun(result, run),
                          at == result.distributions[run].end() ? nullptr : &at->second,
                          palette.rank(static_cast<int>(run))});
  }
  return frame;
}

DistributionPanel::DistributionPanel(QWidget* parent)
    : CanvasPart(parent),
      kinds_(named(new QComboBox, "", tr("Span"),
                   tr("Whose durations are shown, of measured iterations"))),
      table_(new TableView(tr("Percentiles"))) {
  canvas_ = new Canvas(this, this);
  canvas_->setAccessibleName(tr("Distribution of durations"));
  canvas_->setMinimumSize(160, 90);
  table_->horizontalHeader()->setStretchLastSection(false);
  table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);

  QHBoxLayout* choice = inRow({labelOf(kinds_, tr("Durations of")), kinds_, Part::rest()});
  fill(this, inRow({{canvas_, 3}, {inColumn({choice, {table_, 1}}), 2}}), {0, 4, 0, 0});
  connect(kinds_, &QComboBox::currentIndexChanged, this, [this] {
    chosen_ = kind();
    fillTable();
    repaintSoon();
    describe();
  });
}

void DistributionPanel::showResult(std::shared_ptr<const CompareResult> result) {
  result_ = std::move(result);
  fillKinds();
  fillTable();
  repaintSoon();
  describe();
}

void DistributionPanel::setForecast(const std::optional<HistogramForecast>& forecast) {
  forecast_ = forecast;
  repaintSoon();
}

trace::EventKind DistributionPanel::kind() const {
  return kinds_->count() == 0 ? trace::EventKind::kStep
                              : static_cast<trace::EventKind>(kinds_->currentData().toInt());
}

void DistributionPanel::fillKinds() {
  std::set<trace::EventKind> kinds;
  if (result_ != nullptr) {
    for (const Distributions& run : result_->distributions) {
      for (const auto& [kind, durations] : run) {
        kinds.insert(kind);
      }
    }
  }
  // The kind that was chosen is shown where the new result has it, or else the first one.
  const QSignalBlocker quiet(kinds_);
  kinds_->clear();
  for (const trace::EventKind kind : kinds) {
    kinds_->addItem(kindName(kind), static_cast<int>(kind));
  }
  kinds_->setCurrentIndex(std::max(0, kinds_->findData(static_cast<int>(chosen_))));
}

void DistributionPanel::fillTable() {
  table_->setRows(std::make_shared<PercentileRows>(result_, kind()));
}

void DistributionPanel::describe() {
  const PercentileRows percentiles(result_, kind());
  QStringList parts;
  for (std::size_t row = 0; row < percentiles.size(); ++row) {
    parts << QStringLiteral("%1: P50 %2, P90 %3.")
                 .arg(percentiles.text(row, PercentileRows::kRun),
                      percentiles.text(row, PercentileRows::kP50),
                      percentiles.text(row, PercentileRows::kP90));
  }
  canvas_->setAccessibleDescription(kinds_->currentText() + u' ' + parts.join(u' '));
}

QString DistributionPanel::headingAt(QPointF /*at*/) const {
  return kinds_->currentText();
}

void DistributionPanel::paintCanvas(DisplayList& list, QSizeF size) {
  list.fill(QRectF(QPointF(0, 0), size), colours().background);
  if (result_ != nullptr) {
    HistogramFrame frame = histogramFrame(*result_, kind(), size, colours());
    frame.pointer = pointer_;
    if (kind() == trace::EventKind::kStep) {
      frame.forecast = forecast_;
    }
    drawHistogram(list, frame, colours());
  }
}

}  // namespace lockstep::ui
