#include "ui/panels/events/EventsPanel.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QPushButton>
#include <QScrollBar>
#include <QTimer>
#include <algorithm>

#include "ui/model/Format.h"
#include "ui/panels/ElidedLabel.h"
#include "ui/panels/Labels.h"
#include "ui/panels/LocalFiles.h"
#include "ui/panels/RangeButton.h"
#include "ui/panels/RunRefresh.h"
#include "ui/table/TableText.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

constexpr double kZoomMargin = 0.3;
constexpr double kInstantNs = 100'000;  // what is shown around an instant
constexpr int kSaidForMs = 6'000;
constexpr int kCellMargin = 14;
constexpr int kSampleRows = 60;

}  // namespace

// Note [A selection with two owners]
//
// The selection of a run is in the view state, for all views; a table has a current row besides.
// Each follows the other, and neither may answer to what it was itself the cause of. While
// `syncing_` is set, a change of the row is no choice of the user's, and a change of the selection
// is no news:
//
//   the user picks a row ─▶ rowChosen ─ syncing_ ─▶ ViewState::select ─▶ showSelection: leaves
//   a click in a view    ─▶ showSelection ─▶ goTo ─ syncing_ ─▶ new row ─▶ rowChosen: leaves
//   a search has ended   ─▶ take ─ syncing_ ─▶ the selected event is found in its new row
//
// Of searches there are three orders: the one that is wanted (order_), the one that is being
// searched by (searched_) and the one in which the listed rows were found (shown_). An export needs
// the last.
EventsPanel::EventsPanel(QWidget* parent)
    : RunTablePanel(
          {.name = "events",
           .filterHint = tr("Filter: allreduce  bucket:3  rank:1  kind:wait  step:10..20  >2ms"),
           .filterCalled = tr("Filter events"),
           .rangeTip = tr("List the whole run again"),
           .wholeRun = tr("List the whole run")},
          new TableView(tr("Events"), TableView::Copies::kNothing), parent),
      forget_(new QTimer(this)),
      exportButton_(named(new QPushButton(tr("Export CSV…")), "eventsExport")) {
  forget_->setSingleShot(true);
  connect(forget_, &QTimer::timeout, this, [this] { say({}); });
  buildTable();
  buildPager();
  buildActions();
  layOut({}, {exportButton_}, pages_);
  connect(filter_, &QLineEdit::textChanged, this, [this] {
    say({});
    refresh_->askWhenTyped();
  });
  connect(filter_, &QLineEdit::returnPressed, this, [this] { table_->setFocus(); });
  connect(exportButton_, &QPushButton::clicked, this, &EventsPanel::chooseFile);
  connect(table_, &QTableView::activated, this, &EventsPanel::zoomToCurrent);
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

void EventsPanel::setRun(RunModel* model, ViewState* state) {
  if (state_ != nullptr) {
    state_->disconnect(this);
  }
  search_.cancel();
  const bool cut = export_.busy();
  export_.cancel();
  rows_.setRows(nullptr, nullptr);
  showRows();
  takeRun(model, state);
  if (open()) {
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

void EventsPanel::search() {
  order_.query = SpanQuery(filter_->text());
  if (!open() || !order_.query.error().isEmpty()) {
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
  // Who looks at the end of a live list goes on doing so; anybody else's lines stay where they are.
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
  // With the first rows the table goes to the selection; later only the mark follows it.
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
    const TimeRange all{span->startNs, span->endNs()};
    state_->setRange(TimeRange::about(all.middleNs(), range.lengthNs()),
                     ViewState::RangeChange::kPan);
  }
  state_->select(span);
  emit chosen(*span);
  syncing_ = false;
  refreshWords();
}

void EventsPanel::showEvent(QShowEvent* event) {
  RunTablePanel::showEvent(event);
  showSelection();  // what was selected meanwhile
}

void EventsPanel::showSelection() {
  if (syncing_ || state_ == nullptr || !isVisible()) {
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
  const QString run = QString::fromStdString(run_->path().string());
  const QString path = QFileDialog::getSaveFileName(this, tr("Export events as CSV"),
                                                    fileBeside(run, QStringLiteral("-events.csv")),
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

// --- what it is made of, and what its labels say ---

void EventsPanel::buildTable() {
  table_->setAccessibleDescription(
      tr("One event a row. Enter shows it in the timeline, Ctrl+C copies rows."));
  table_->rowsModel().leaveSorting();
  table_->rowsModel().setPage(EventPages::kPageRows);
  showRows();
  table_->sortFromTheStart(static_cast<int>(EventColumn::kStart), Qt::AscendingOrder);
  table_->horizontalHeader()->setSectionsMovable(true);
  // Numbers are not squeezed into what is left of the window.
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
}

void EventsPanel::buildPager() {
  const auto button = [this](const char* name, const QString& text, const QString& tip, int by) {
    auto* turn = toolButton(text, tip, name);
    turn->setAccessibleName(tip);
    turn->setAutoRaise(true);
    connect(turn, &QToolButton::clicked, this,
            [this, by] { setPage(rows_.page() + static_cast<std::size_t>(by)); });
    return turn;
  };
  previousPage_ = button("eventsPreviousPage", QStringLiteral("◀"), tr("Earlier rows"), -1);
  nextPage_ = button("eventsNextPage", QStringLiteral("▶"), tr("Further rows"), 1);
  pageText_ = new QLabel;
  pages_ = fill(new QWidget, inRow({Part::rest(), pageText_, previousPage_, nextPage_}));
}

void EventsPanel::buildActions() {
  const auto add = [this](const QString& text, const QKeySequence& key, auto act) {
    auto* action = new QAction(text, table_);
    action->setShortcut(key);
    action->setShortcutContext(Qt::WidgetShortcut);
    connect(action, &QAction::triggered, this, act);
    table_->addAction(action);
    return action;
  };
  zoom_ = add(tr("Show in the timeline"), QKeySequence(), &EventsPanel::zoomToCurrent);
  findAll_ = add(tr("Find all like this"), QKeySequence(), &EventsPanel::findAllOfCurrent);
  add(tr("Copy"), QKeySequence::Copy, &EventsPanel::copy);
  add(tr("Export CSV…"), QKeySequence(), &EventsPanel::chooseFile);
  table_->setContextMenuPolicy(Qt::ActionsContextMenu);
}

// As wide as titles and the first rows are; the user may change it.
void EventsPanel::fitColumns() {
  const QFontMetrics metrics = table_->fontMetrics();
  const int sorted = table_->horizontalHeader()->style()->pixelMetric(QStyle::PM_HeaderMarkSize);
  const int widest = 30 * metrics.averageCharWidth();
  for (int column = 0; column + 1 < kEventColumns; ++column) {
    const QString title =
        table_->model()->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
    int width = metrics.horizontalAdvance(title) + sorted;
    const int step = std::max(1, table_->model()->rowCount() / kSampleRows);
    for (int row = 0; row < table_->model()->rowCount(); row += step) {
      width = std::max(
          width, metrics.horizontalAdvance(table_->model()->index(row, column).data().toString()));
    }
    table_->setColumnWidth(column, std::min(width, widest) + kCellMargin);
  }
}

void EventsPanel::refreshWords() {
  const QString mistake = SpanQuery(filter_->text()).error();
  // What goes on now comes before what came of the last deed, that before what is wrong with the
  // filter, and the usual count last.
  QString text;
  if (export_.busy()) {
    text = tr("Writing, %1 %…").arg(static_cast<int>(export_.progress() * 100));
  } else if (!said_.isEmpty()) {
    text = said_;
  } else if (!mistake.isEmpty()) {
    text = mistake;
  } else if (open() && search_.busy() && search_.progress() < 1) {
    text = tr("Searching, %1 %…").arg(static_cast<int>(search_.progress() * 100));
  } else if (open()) {
    text =
        tr("%1 of %2 events")
            .arg(formatCount(rows_.total()), formatCount(SpanSlices(*run_, std::nullopt).count()));
  }
  words_->setWords(text);
  exportButton_->setText(export_.busy() ? tr("Stop writing") : tr("Export CSV…"));
  exportButton_->setToolTip(
      export_.busy() ? tr("Leave the file as it was")
                     : tr("Write everything listed into a file: times in ns, one event a line"));
  const bool any = rows_.total() > 0;
  exportButton_->setEnabled(any);
  zoom_->setEnabled(any);
  findAll_->setEnabled(any);
  refreshPager();
  showRange();
  const QString& stretch = range_->words();
  showTable(!any && !search_.busy(),
            {.noRun = tr("No run is open. Open one to list its events."),
             .notYet = tr("Nothing recorded yet. Events appear as ranks start up."),
             .noMatch = stretch.isEmpty() ? tr("No event of this run matches this filter.")
                                          : tr("No event of %1 matches this filter.").arg(stretch),
             .outOfRange = true,
             .none = tr("This run recorded no events.")});
}

void EventsPanel::refreshPager() {
  const std::size_t pages = rows_.pages();
  pages_->setVisible(pages > 1);
  const std::size_t first = rows_.page() * EventPages::kPageRows;
  pageText_->setText(
      tr("Rows %1 to %2 of %3")
          .arg(formatCount(first + 1),
               formatCount(first + static_cast<std::size_t>(table_->model()->rowCount())),
               formatCount(rows_.total())));
  previousPage_->setEnabled(rows_.page() > 0);
  nextPage_->setEnabled(rows_.page() + 1 < pages);
}

}  // namespace lockstep::ui
