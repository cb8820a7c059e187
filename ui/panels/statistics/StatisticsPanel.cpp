#include "ui/panels/statistics/StatisticsPanel.h"

#include <QAction>
#include <QComboBox>
#include <QFileInfo>
#include <QItemSelectionModel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QTableView>
#include <QTimer>
#include <algorithm>

#include "ui/panels/TableText.h"

namespace lockstep::ui {
namespace {

constexpr int kTypingMs = 150;
constexpr int kRefreshMs = 500;  // of a run that grows
constexpr int kLoadingMs = 50;   // of one that is being read
constexpr int kRestPerWork = 9;  // a tenth of a core at most

}  // namespace

StatisticsPanel::StatisticsPanel(QWidget* parent)
    : QWidget(parent),
      rows_(new StatisticsModel(StatisticsModel::For::kPeople, this)),
      sorted_(new StatisticsOrderProxy(this)),
      typed_(new QTimer(this)),
      later_(new QTimer(this)) {
  setObjectName("statisticsPanel");
  sorted_->setSourceModel(rows_);
  typed_->setSingleShot(true);
  typed_->setInterval(kTypingMs);
  later_->setSingleShot(true);
  buildLayout();
  buildActions();
  connect(typed_, &QTimer::timeout, this, &StatisticsPanel::measure);
  connect(later_, &QTimer::timeout, this, &StatisticsPanel::measure);
  connect(&search_, &StatisticsSearch::found, this, &StatisticsPanel::take);
  refreshWords();
}

StatisticsPanel::~StatisticsPanel() {
  search_.cancel();
}

void StatisticsPanel::setRun(RunModel* model, ViewState* state) {
  if (run_ != nullptr) {
    run_->disconnect(this);
  }
  if (state_ != nullptr) {
    state_->disconnect(this);
  }
  search_.cancel();
  later_->stop();
  shown_.reset();
  rows_->setRows(by_, {});
  run_ = model;
  state_ = state;
  if (run_ != nullptr && state_ != nullptr) {
    wasLive_ = run_->isLive();
    connect(run_, &RunModel::changed, this, &StatisticsPanel::modelChanged);
    connect(run_, &RunModel::infoChanged, this, &StatisticsPanel::modelChanged);
    connect(state_, &ViewState::filterChanged, this, &StatisticsPanel::measureSoon);
  }
  measureSoon();
}

void StatisticsPanel::setGroupBy(GroupBy by) {
  groupBy_->setCurrentIndex(groupBy_->findData(static_cast<int>(by)));
}

void StatisticsPanel::setFilter(const QString& query) {
  filter_->setText(query);
  typed_->stop();
  measure();
}

void StatisticsPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (stale_) {
    measure();
  }
}

void StatisticsPanel::measureSoon() {
  stale_ = true;
  if (isVisible()) {
    measure();
  }
}

void StatisticsPanel::measure() {
  stale_ = true;
  later_->stop();
  if (run_ == nullptr || state_ == nullptr || !isVisible()) {
    search_.cancel();
    refreshWords();
    return;
  }
  stale_ = false;
  const SpanQuery query(filter_->text());
  if (!query.error().isEmpty()) {
    search_.cancel();  // what is shown stays until the query can be understood
    refreshWords();
    return;
  }
  askedBy_ = by_;
  search_.start(*run_, {by_, query, state_->filter(),
                        run_->isLive() ? kMeasuredAtMostLive : kMeasuredAtMost});
  refreshWords();
}

void StatisticsPanel::modelChanged() {
  stale_ = true;
  const bool ended = wasLive_ && !run_->isLive();
  wasLive_ = run_->isLive();
  if (!isVisible()) {
    return;
  }
  if (ended) {
    measure();
  } else if (!search_.busy() && !later_->isActive() && !typed_->isActive()) {
    const qint64 rest = kRestPerWork * search_.tookMs();
    const qint64 least = wasLive_ ? kRefreshMs : kLoadingMs;
    later_->start(static_cast<int>(std::clamp<qint64>(rest, least, 60'000)));
  }
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
  if (stale_) {
    modelChanged();
  }
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

std::unique_ptr<StatisticsModel> StatisticsPanel::forFile() const {
  std::vector<StatisticsRow> rows;
  for (int row = 0; row < sorted_->rowCount(); ++row) {
    const int source = sorted_->mapToSource(sorted_->index(row, 0)).row();
    rows.push_back(rows_->rows()[static_cast<std::size_t>(source)]);
  }
  auto model = std::make_unique<StatisticsModel>(StatisticsModel::For::kFiles);
  model->setRows(by_, std::move(rows));
  return model;
}

void StatisticsPanel::exportRows() {
  if (run_ == nullptr || rows_->rows().empty()) {
    return;
  }
  const QFileInfo run(QString::fromStdString(run_->path().string()));
  exportTable(
      this, *forFile(),
      run.absolutePath() + '/' + run.completeBaseName() + QStringLiteral("-statistics.csv"));
}

}  // namespace lockstep::ui
