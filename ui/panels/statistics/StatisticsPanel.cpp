#include "ui/panels/statistics/StatisticsPanel.h"

#include <QAction>
#include <QComboBox>
#include <QFileInfo>
#include <QItemSelectionModel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QTableView>

#include "engine/export/OutputFile.h"
#include "engine/export/StatisticsTable.h"
#include "ui/panels/RunRefresh.h"
#include "ui/panels/TableText.h"

namespace lockstep::ui {
namespace {

constexpr int kRestPerWork = 9;  // a tenth of a core at most

}  // namespace

StatisticsPanel::StatisticsPanel(QWidget* parent)
    : QWidget(parent),
      rows_(new StatisticsModel(this)),
      sorted_(new StatisticsOrderProxy(this)),
      refresh_(new RunRefresh(*this, kRestPerWork)) {
  setObjectName("statisticsPanel");
  sorted_->setSourceModel(rows_);
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
  rows_->setRows(by_, {});
  run_ = model;
  state_ = state;
  refresh_->setRun(model, state);
  refreshWords();
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
  rows_->setRows(askedBy_, statistics->rows);
  if (first) {
    table_->resizeColumnsToContents();
  }
  for (int row = 0; row < sorted_->rowCount() && !name.isEmpty(); ++row) {
    if (sorted_->index(row, StatisticsModel::kGroup).data().toString() == name) {
      table_->selectionModel()->setCurrentIndex(
          sorted_->index(row, 0), QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    }
  }
  table_->verticalScrollBar()->setValue(scrolled);
  refreshWords();
  refresh_->worked(search_.tookMs());
}

const StatisticsRow* StatisticsPanel::currentRow() const {
  const QModelIndex index = sorted_->mapToSource(table_->currentIndex());
  return index.isValid() ? &rows_->rows()[static_cast<std::size_t>(index.row())] : nullptr;
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
    for (int at = 0; at < sorted_->rowCount(); ++at) {
      const int source = sorted_->mapToSource(sorted_->index(at, 0)).row();
      const StatisticsRow& row = rows_->rows()[static_cast<std::size_t>(source)];
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
