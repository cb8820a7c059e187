#include "ui/panels/events/EventsPanel.h"

#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QItemSelectionModel>
#include <QLineEdit>
#include <QScrollBar>
#include <QTableView>
#include <QTimer>
#include <algorithm>

#include "ui/model/Format.h"
#include "ui/panels/TableText.h"

namespace lockstep::ui {
namespace {

constexpr int kTypingMs = 150;
constexpr int kRefreshMs = 500;  // of a run that grows
constexpr int kLoadingMs = 50;   // of one that is being read
constexpr int kRestPerWork = 4;  // a search that takes long rests so many times as long
constexpr double kZoomMargin = 0.3;
constexpr double kInstantNs = 100'000;  // what is shown around an instant

}  // namespace

EventsPanel::EventsPanel(QWidget* parent)
    : QWidget(parent),
      rows_(new EventsModel(this)),
      typed_(new QTimer(this)),
      later_(new QTimer(this)) {
  setObjectName("eventsPanel");
  typed_->setSingleShot(true);
  typed_->setInterval(kTypingMs);
  later_->setSingleShot(true);
  buildLayout();
  buildActions();
  connect(typed_, &QTimer::timeout, this, &EventsPanel::search);
  connect(later_, &QTimer::timeout, this, &EventsPanel::search);
  connect(&search_, &EventSearch::found, this, &EventsPanel::take);
  connect(&search_, &EventSearch::progressed, this, &EventsPanel::refreshWords);
  connect(&export_, &EventsExport::progressed, this, &EventsPanel::refreshWords);
  connect(&export_, &EventsExport::ended, this, &EventsPanel::exportEnded);
  connect(rows_, &EventsModel::sortWanted, this, [this](EventColumn column, bool descending) {
    order_.column = column;
    order_.descending = descending;
    said_.clear();
    searchSoon();
  });
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &EventsPanel::rowChosen);
  refreshWords();
}

EventsPanel::~EventsPanel() {
  search_.cancel();
  export_.cancel();
}

void EventsPanel::setRun(RunModel* model, ViewState* state) {
  if (run_ != nullptr) {
    run_->disconnect(this);
  }
  if (state_ != nullptr) {
    state_->disconnect(this);
  }
  search_.cancel();
  if (export_.busy()) {
    export_.cancel();
    said_ = tr("The export was left off: the run was closed.");
  } else {
    said_.clear();
  }
  later_->stop();
  rows_->setRows(nullptr, nullptr);
  run_ = model;
  state_ = state;
  if (run_ != nullptr && state_ != nullptr) {
    wasLive_ = run_->isLive();
    connect(run_, &RunModel::changed, this, &EventsPanel::modelChanged);
    connect(run_, &RunModel::infoChanged, this, &EventsPanel::modelChanged);
    connect(state_, &ViewState::selectionChanged, this, &EventsPanel::showSelection);
    connect(state_, &ViewState::filterChanged, this, &EventsPanel::searchSoon);
  }
  searchSoon();
}

void EventsPanel::setFilter(const QString& query) {
  filter_->setText(query);
  typed_->stop();
  search();
}

void EventsPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (stale_) {
    search();
  }
}

void EventsPanel::searchSoon() {
  stale_ = true;
  if (isVisible()) {
    search();
  }
}

void EventsPanel::search() {
  stale_ = true;
  later_->stop();
  if (run_ == nullptr || state_ == nullptr || !isVisible()) {
    search_.cancel();
    refreshWords();
    return;
  }
  order_.query = SpanQuery(filter_->text());
  order_.range = state_->filter();
  if (!order_.query.error().isEmpty()) {
    search_.cancel();  // what is listed stays until the query can be understood
    stale_ = false;
    refreshWords();
    return;
  }
  stale_ = false;
  search_.start(*run_, order_);
  refreshWords();
}

void EventsPanel::modelChanged() {
  stale_ = true;
  const bool ended = wasLive_ && !run_->isLive();
  wasLive_ = run_->isLive();
  if (!isVisible()) {
    return;
  }
  if (ended) {
    search();  // what came late has found its place
  } else if (!search_.busy() && !later_->isActive() && !typed_->isActive()) {
    const qint64 rest = kRestPerWork * search_.tookMs();
    const qint64 least = wasLive_ ? kRefreshMs : kLoadingMs;
    later_->start(static_cast<int>(std::clamp<qint64>(rest, least, 60'000)));
  }
}

void EventsPanel::take(const std::shared_ptr<const EventRows>& rows) {
  QScrollBar* bar = table_->verticalScrollBar();
  const bool atEnd = run_->isLive() && bar->value() > 0 && bar->value() == bar->maximum();
  const int scrolled = bar->value();
  syncing_ = true;
  const bool first = rows_->total() == 0;
  rows_->setRows(run_, rows);
  if (first) {
    fitColumns();
  }
  syncing_ = false;
  refreshWords();
  if (atEnd) {
    table_->scrollToBottom();
  } else {
    bar->setValue(scrolled);
  }
  // The selection is found again, but nothing moves for it while the user reads elsewhere.
  if (state_->selection()) {
    if (const auto place = rows_->placeOf(*state_->selection())) {
      if (first) {
        goTo(*place);
      } else if (*place / EventsModel::kPageRows == rows_->page()) {
        syncing_ = true;
        const auto row = static_cast<int>(*place % EventsModel::kPageRows);
        table_->selectionModel()->setCurrentIndex(
            rows_->index(row, 0), QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
        syncing_ = false;
        bar->setValue(atEnd ? bar->maximum() : scrolled);
      }
    }
  }
  if (stale_) {
    modelChanged();
  }
}

// --- selection ---

void EventsPanel::rowChosen() {
  if (syncing_ || state_ == nullptr) {
    return;
  }
  const auto span = rows_->spanAt(table_->currentIndex().row());
  if (!span) {
    return;
  }
  said_.clear();
  syncing_ = true;
  const TimeRange range = state_->range();
  if (span->endNs() < range.startNs || span->startNs > range.endNs) {
    const double half = range.lengthNs() / 2;
    const double middle = (span->startNs + span->endNs()) / 2;
    state_->setRange({middle - half, middle + half}, ViewState::RangeChange::kPan);
  }
  state_->select(span);
  syncing_ = false;
  refreshWords();
}

void EventsPanel::showSelection() {
  if (syncing_ || !isVisible()) {
    return;
  }
  const auto place = state_->selection() ? rows_->placeOf(*state_->selection()) : std::nullopt;
  if (place) {
    goTo(*place);
  } else {
    syncing_ = true;
    table_->setCurrentIndex(QModelIndex());
    table_->clearSelection();
    syncing_ = false;
  }
}

void EventsPanel::goTo(std::size_t place) {
  syncing_ = true;
  rows_->setPage(place / EventsModel::kPageRows);
  const QModelIndex index = rows_->index(static_cast<int>(place % EventsModel::kPageRows), 0);
  table_->selectionModel()->setCurrentIndex(
      index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
  table_->scrollTo(index);
  syncing_ = false;
  refreshWords();
}

void EventsPanel::setPage(std::size_t page) {
  syncing_ = true;
  rows_->setPage(page);
  syncing_ = false;
  table_->scrollToTop();
  refreshWords();
}

void EventsPanel::zoomToCurrent() {
  const auto span = rows_->spanAt(table_->currentIndex().row());
  if (!span || state_ == nullptr) {
    return;
  }
  const double margin = span->durationNs > 0
                            ? std::max(span->durationNs * kZoomMargin, ViewState::kMinimumRangeNs)
                            : kInstantNs / 2;
  state_->select(span);
  state_->setFollowLive(false);
  state_->setRange({span->startNs - margin, span->endNs() + margin});
  emit timelineRequested();
}

void EventsPanel::findAllOfCurrent() {
  if (const auto span = rows_->spanAt(table_->currentIndex().row())) {
    setFilter(queryFor(*span));
  }
}

// --- out of the table ---

void EventsPanel::copy() {
  qint64 selected = 0;
  for (const QItemSelectionRange& range : table_->selectionModel()->selection()) {
    selected += range.height();
  }
  const qint64 rows = selected > 0 ? selected : rows_->rowCount();
  if (rows > kCopiedRows) {
    said_ = tr("Not copied: %1 rows are too many for the clipboard (at most %2). Export writes "
               "them all.")
                .arg(formatCount(static_cast<std::uint64_t>(rows)), formatCount(kCopiedRows));
  } else if (rows > 0) {
    QApplication::clipboard()->setText(rowsAsText(*table_));
    said_ = rows == 1 ? tr("Copied 1 row")
                      : tr("Copied %1 rows").arg(formatCount(static_cast<std::uint64_t>(rows)));
  }
  refreshWords();
}

void EventsPanel::chooseFile() {
  if (export_.busy()) {
    export_.cancel();
    said_ = tr("The export was left off.");
    refreshWords();
    return;
  }
  if (run_ == nullptr || rows_->total() == 0) {
    return;
  }
  const QFileInfo run(QString::fromStdString(run_->path().string()));
  const QString path = QFileDialog::getSaveFileName(
      this, tr("Export events as CSV"),
      run.absolutePath() + '/' + run.completeBaseName() + QStringLiteral("-events.csv"),
      tr("CSV (*.csv)"));
  if (!path.isEmpty()) {
    exportTo(path);
  }
}

void EventsPanel::exportTo(const QString& path) {
  if (run_ != nullptr && rows_->rows()) {
    said_.clear();
    export_.start(path, *run_, rows_->rows());
    refreshWords();
  }
}

void EventsPanel::exportEnded(const QString& path, const QString& mistake) {
  said_ = mistake.isEmpty() ? tr("Wrote %1").arg(path) : mistake;
  refreshWords();
  if (!mistake.isEmpty()) {
    emit failed(mistake);
  }
}

}  // namespace lockstep::ui
