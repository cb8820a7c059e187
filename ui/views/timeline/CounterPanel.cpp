#include "ui/views/timeline/CounterPanel.h"

#include <QHeaderView>
#include <QTimer>
#include <memory>
#include <utility>

#include "ui/model/Format.h"
#include "ui/stage/Boxes.h"
#include "ui/table/TableText.h"
#include "ui/table/TableView.h"
#include "ui/views/timeline/CounterTable.h"

namespace lockstep::ui {
namespace {

constexpr int kRefreshMs = 500;
constexpr int kRowsInSight = 7;

}  // namespace

CounterPanel::CounterPanel(QWidget* parent)
    : RunPart(parent),
      view_(named(new TableView(tr("Counters")), "counterTable")),
      title_(new QLabel),
      export_(barButton(tr("Export…"), {}, tr("Write the table as CSV"))),
      timer_(new QTimer(this)) {
  view_->setRows(std::make_shared<CounterTable>());
  view_->fitTitles();
  const int row = view_->verticalHeader()->defaultSectionSize();
  view_->setFixedHeight((kRowsInSight + 1) * row + row / 2);
  const int em = fontMetrics().horizontalAdvance(QLatin1Char('m'));
  view_->setColumnWidth(CounterTable::kCounter, 12 * em);
  QToolButton* close = barButton(QStringLiteral("✕"), tr("Close the table of counters"),
                                 tr("Close the table of counters"));
  QHBoxLayout* head = inRow({{title_, 1}, export_, close});
  head->setContentsMargins(8, 2, 4, 2);
  fill(this, inColumn({head, view_}, 0));
  timer_->setSingleShot(true);
  connect(timer_, &QTimer::timeout, this, &CounterPanel::refresh);
  connect(close, &QToolButton::clicked, this, &CounterPanel::closeWanted);
  connect(export_, &QToolButton::clicked, this,
          [this] { exportTable(this, *view_->model(), QStringLiteral("counters.csv")); });
  connect(view_, &TableView::rowActivated, this, [this](std::size_t at) {
    const auto& rows = static_cast<const CounterTable&>(*view_->rowsModel().rows());
    if (const CounterRow& row = rows.row(at); row.summary.any()) {
      emit placeWanted(row.peakNs);
    }
  });
}

void CounterPanel::runChanged() {
  if (model_ != nullptr) {
    connect(model_, &RunModel::changed, this, &CounterPanel::refreshSoon);
  }
  if (state_ != nullptr) {
    connect(state_, &ViewState::countersChanged, this, &CounterPanel::refresh);
    connect(state_, &ViewState::filterChanged, this, &CounterPanel::refresh);
  }
  refresh();
}

void CounterPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

void CounterPanel::refreshSoon() {
  if (isVisible() && !timer_->isActive()) {
    timer_->start(kRefreshMs);
  }
}

void CounterPanel::refresh() {
  if (!isVisible()) {
    return;  // what is new is taken when it is shown
  }
  std::vector<CounterRow> rows;
  const bool open = model_ != nullptr && state_ != nullptr;
  if (open) {
    rows = counterRows(*model_, state_->counters(), state_->filter());
  }
  if (rows.empty()) {
    title_->setText(open && !state_->counters().isEmpty()
                        ? tr("The run holds none of the counters that are chosen.")
                        : tr("No counter is shown: choose some in the menu Counters."));
  } else if (state_->filter()) {
    title_->setText(tr("Counters in the filtered %1; Enter goes to the maximum")
                        .arg(formatDuration(state_->filter()->lengthNs())));
  } else {
    title_->setText(tr("Counters over the whole run; Enter goes to the maximum"));
  }
  export_->setEnabled(!rows.empty());
  view_->setRows(std::make_shared<CounterTable>(std::move(rows)));
}

}  // namespace lockstep::ui
