#include "ui/panels/statistics/StatisticsPanel.h"

#include <QAction>
#include <QComboBox>
#include <QFileInfo>
#include <QItemSelectionModel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>

#include "engine/export/OutputFile.h"
#include "engine/export/StatisticsTable.h"
#include "ui/panels/RunRefresh.h"
#include "ui/table/TableText.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

constexpr int kRestPerWork = 9;  // a tenth of a core at most

}  // namespace

StatisticsPanel::StatisticsPanel(QWidget* parent)
    : QWidget(parent), refresh_(new RunRefresh(*this, kRestPerWork)) {
  setObjectName("statisticsPanel");
  buildLayout();
  buildActions();
  connect(refresh_, &RunRefresh::due, this, &StatisticsPanel::measure);
  connect(&search_, &StatisticsSearch::found, this, &StatisticsPanel::take);
  refreshWords();
}

StatisticsPanel::~StatisticsPanel() {
  search_.cancel();
}

bool StatisticsPanel::busy() const {
  return refresh_->waiting();
}

void StatisticsPanel::setRun(RunModel* model, ViewState* state) {
  search_.cancel();
  shown_.reset();
  askedBy_ = by_;
  setRows({});
  run_ = model;
  state_ = state;
  refresh_->setRun(model, state);
  refreshWords();
}

void StatisticsPanel::setRows(std::vector<StatisticsRow> rows) {
  rows_ = std::make_shared<StatisticsTable>(askedBy_, std::move(rows));
  table_->setRows(rows_);
}

void StatisticsPanel::setGroupBy(GroupBy by) {
  groupBy_->setCurrentIndex(groupBy_->findData(static_cast<int>(by)));
}

void StatisticsPanel::setFilter(const QString& query) {
  filter_->setText(query);
  refresh_->ask();
}

void StatisticsPanel::measure() {
  const SpanQuery query(filter_->text());
  if (run_ == nullptr || state_ == nullptr || !query.error().isEmpty()) {
    search_.cancel();  // what is shown stays until the query can be understood
    refresh_->worked(0);
  } else {
    askedBy_ = by_;
    search_.start(*run_, {by_, query, state_->filter(),
                          run_->isLive() ? kMeasuredAtMostLive : kMeasuredAtMost});
  }
  refreshWords();
}

void StatisticsPanel::take(const std::shared_ptr<const Statistics>& statistics) {
  const StatisticsRow* current = currentRow();
  const QString name = current != nullptr ? current->group.name : QString();
  const int scrolled = table_->verticalScrollBar()->value();
  const bool first = rows_->rows().empty();
  shown_ = statistics;
  setRows(statistics->rows);
  if (first) {
    table_->resizeColumnsToContents();
  }
  for (std::size_t row = 0; row < rows_->size() && !name.isEmpty(); ++row) {
    if (rows_->text(row, StatisticsTable::kGroup) == name) {
      table_->showRow(row);
    }
  }
  table_->verticalScrollBar()->setValue(scrolled);
  refreshWords();
  refresh_->worked(search_.tookMs());
}

const StatisticsRow* StatisticsPanel::currentRow() const {
  const auto row = table_->currentRow();
  return row ? &rows_->rows()[*row] : nullptr;
}

QString StatisticsPanel::currentQuery() const {
  const StatisticsRow* row = currentRow();
  if (row == nullptr || row->group.query.isEmpty()) {
    return {};
  }
  const QString typed = filter_->text().trimmed();
  return typed.isEmpty() ? row->group.query : row->group.query + QLatin1Char(' ') + typed;
}

QString StatisticsPanel::writeTo(const QString& path) const {
  return writeFile(path, [this](exports::OutputFile& file) {
    exports::Csv csv(file, exports::statisticsTitles());
    for (int line = 0; line < table_->model()->rowCount(); ++line) {
      const StatisticsRow& row = rows_->rows()[table_->rowsModel().rowAt(line)];
      exports::write(csv, row.group.key, row.of, row.share);
    }
  });
}

void StatisticsPanel::exportRows() {
  if (run_ == nullptr || rows_->rows().empty()) {
    return;
  }
  const QFileInfo run(QString::fromStdString(run_->path().string()));
  exportFile(this,
             run.absolutePath() + '/' + run.completeBaseName() + QStringLiteral("-statistics.csv"),
             [this](const QString& path) { return writeTo(path); });
}

}  // namespace lockstep::ui
