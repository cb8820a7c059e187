#include "ui/panels/events/EventsPanel.h"

#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QItemSelectionModel>
#include <QLineEdit>
#include <QScrollBar>
#include <QTimer>
#include <algorithm>

#include "ui/model/Format.h"
#include "ui/panels/RunRefresh.h"
#include "ui/table/TableText.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

constexpr int kRestPerWork = 9;  // a tenth of a core at most
constexpr double kZoomMargin = 0.3;
constexpr double kInstantNs = 100'000;  // what is shown around an instant
constexpr int kSaidForMs = 6'000;

}  // namespace

EventsPanel::EventsPanel(QWidget* parent)
    : QWidget(parent), refresh_(new RunRefresh(*this, kRestPerWork)), forget_(new QTimer(this)) {
  setObjectName("eventsPanel");
  forget_->setSingleShot(true);
  connect(forget_, &QTimer::timeout, this, [this] { say({}); });
  buildLayout();
  buildActions();
  connect(refresh_, &RunRefresh::due, this, &EventsPanel::search);
  connect(&search_, &EventSearch::found, this, &EventsPanel::take);
  connect(&search_, &EventSearch::progressed, this, &EventsPanel::refreshWords);
  connect(&export_, &EventsExport::progressed, this, &EventsPanel::refreshWords);
  connect(&export_, &EventsExport::ended, this, &EventsPanel::exportEnded);
  connect(&table_->rowsModel(), &RowsModel::sortWanted, this,
          [this](int column, Qt::SortOrder order) {
            if (column >= 0) {
              order_.column = static_cast<EventColumn>(column);
              order_.descending = order == Qt::DescendingOrder;
              say({});
              refresh_->ask();
            }
          });
  // Either may come first: what counts is a row that is both.
  const QItemSelectionModel* selection = table_->selectionModel();
  connect(selection, &QItemSelectionModel::currentRowChanged, this, &EventsPanel::rowChosen);
  connect(selection, &QItemSelectionModel::selectionChanged, this, &EventsPanel::rowChosen);
  refreshWords();
}

EventsPanel::~EventsPanel() {
  search_.cancel();
  export_.cancel();
}

bool EventsPanel::busy() const {
  return refresh_->waiting();
}

void EventsPanel::setRun(RunModel* model, ViewState* state) {
  if (state_ != nullptr) {
    state_->disconnect(this);
  }
  search_.cancel();
  const bool cut = export_.busy();
  export_.cancel();
  rows_.setRows(nullptr, nullptr);
  showRows();
  run_ = model;
  state_ = state;
  if (run_ != nullptr && state_ != nullptr) {
    connect(state_, &ViewState::selectionChanged, this, &EventsPanel::showSelection);
    connect(state_, &ViewState::filterChanged, this, [this] { say({}); });
  }
  refresh_->setRun(model, state);
  if (cut) {
    exportEnded(export_.path(),
                tr("%1 was not written: the run was closed meanwhile.").arg(export_.path()));
  } else {
    say({});
  }
}

void EventsPanel::setFilter(const QString& query) {
  filter_->setText(query);
  refresh_->ask();
}

void EventsPanel::search() {
  order_.query = SpanQuery(filter_->text());
  if (run_ == nullptr || state_ == nullptr || !order_.query.error().isEmpty()) {
    search_.cancel();  // what is listed stays until the query can be understood
    refresh_->worked(0);
  } else {
    order_.range = state_->filter();
    searched_ = order_;
    search_.start(*run_, order_);
  }
  refreshWords();
}

void EventsPanel::showRows() {
  table_->setRows(rows_.shown());
}

void EventsPanel::take(const std::shared_ptr<const EventRows>& rows) {
  QScrollBar* bar = table_->verticalScrollBar();
  const int scrolled = bar->value();
  const bool atEnd = run_->isLive() && scrolled > 0 && scrolled == bar->maximum();
  const bool first = rows_.total() == 0;
  syncing_ = true;
  rows_.setRows(run_, rows);
  showRows();
  shown_ = searched_;
  if (first) {
    fitColumns();
  }
  const auto place = state_->selection() ? rows_.placeOf(*state_->selection()) : std::nullopt;
  if (place && first) {
    goTo(*place);
  } else if (place && *place / EventPages::kPageRows == rows_.page()) {
    // The selection is found again, but nothing moves for it: the user reads elsewhere.
    choose(static_cast<int>(*place % EventPages::kPageRows));
  }
  syncing_ = false;
  if (!first) {
    bar->setValue(atEnd ? bar->maximum() : scrolled);
  }
  refreshWords();
  refresh_->worked(search_.tookMs());
}

// --- selection ---

void EventsPanel::rowChosen() {
  const int row = table_->currentIndex().row();
  // A table that gets the keyboard has a current row without having one selected.
  if (syncing_ || state_ == nullptr || !table_->selectionModel()->isRowSelected(row)) {
    return;
  }
  const auto span = rows_.spanAt(row);
  if (!span || (state_->selection() && state_->selection()->sameAs(*span))) {
    return;
  }
  say({});
  syncing_ = true;
  const TimeRange range = state_->range();
  if (span->endNs() < range.startNs || span->startNs > range.endNs) {
    const double half = range.lengthNs() / 2;
    const double middle = (span->startNs + span->endNs()) / 2;
    state_->setRange({middle - half, middle + half}, ViewState::RangeChange::kPan);
  }
  state_->select(span);
  emit chosen(*span);
  syncing_ = false;
  refreshWords();
}

void EventsPanel::showSelection() {
  if (syncing_ || !isVisible()) {
    return;
  }
  const auto place = state_->selection() ? rows_.placeOf(*state_->selection()) : std::nullopt;
  if (place) {
    goTo(*place);
  } else {
    syncing_ = true;
    table_->setCurrentIndex(QModelIndex());
    table_->clearSelection();
    syncing_ = false;
  }
}

void EventsPanel::choose(int row) {
  table_->selectionModel()->setCurrentIndex(
      table_->model()->index(row, 0),
      QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
}

void EventsPanel::goTo(std::size_t place) {
  syncing_ = true;
  if (rows_.setPage(place / EventPages::kPageRows)) {
    showRows();
  }
  const int row = static_cast<int>(place % EventPages::kPageRows);
  choose(row);
  table_->scrollTo(table_->model()->index(row, 0));
  syncing_ = false;
  refreshWords();
}

void EventsPanel::setPage(std::size_t page) {
  syncing_ = true;
  if (rows_.setPage(page)) {
    showRows();
  }
  syncing_ = false;
  table_->scrollToTop();
  say({});
}

void EventsPanel::zoomToCurrent() {
  const auto span = rows_.spanAt(table_->currentIndex().row());
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
  emit chosen(*span);
}

void EventsPanel::findAllOfCurrent() {
  if (const auto span = rows_.spanAt(table_->currentIndex().row())) {
    setFilter(queryFor(*span));
  }
}

// --- out of the table ---

void EventsPanel::copy() {
  qint64 selected = 0;
  for (const QItemSelectionRange& range : table_->selectionModel()->selection()) {
    selected += range.height();
  }
  const qint64 rows = selected > 0 ? selected : table_->model()->rowCount();
  if (rows > kCopiedRows) {
    say(tr("Not copied: %1 rows are too many for the clipboard (at most %2). Export writes "
           "them all.")
            .arg(formatCount(static_cast<std::uint64_t>(rows)), formatCount(kCopiedRows)));
  } else if (rows > 0) {
    QApplication::clipboard()->setText(rowsAsText(*table_));
    say(tr("Copied %1").arg(formatCounted(static_cast<std::uint64_t>(rows), "row")));
  }
}

void EventsPanel::chooseFile() {
  if (export_.busy()) {
    export_.cancel();
    say(tr("The export was left off."));
    return;
  }
  if (run_ == nullptr || rows_.total() == 0) {
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
  if (run_ != nullptr && rows_.rows()) {
    export_.start(path, *run_, shown_, rows_.rows());
    say({});
  }
}

void EventsPanel::say(const QString& words) {
  said_ = words;
  if (words.isEmpty()) {
    forget_->stop();
  } else {
    forget_->start(kSaidForMs);
  }
  refreshWords();
}

void EventsPanel::exportEnded(const QString& path, const QString& mistake) {
  say(mistake.isEmpty() ? tr("Wrote %1").arg(path) : mistake);
  if (!mistake.isEmpty()) {
    emit failed(mistake);
  }
}

}  // namespace lockstep::ui
