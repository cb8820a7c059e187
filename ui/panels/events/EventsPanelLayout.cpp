#include <QAction>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QStackedLayout>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/model/Format.h"
#include "ui/panels/ElidedLabel.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/RangeButton.h"
#include "ui/panels/RunRefresh.h"
#include "ui/panels/events/EventsPanel.h"
#include "ui/table/TableView.h"

// What the panel is made of, and what its labels say.
namespace lockstep::ui {
namespace {

constexpr int kCellMargin = 14;
constexpr int kSampleRows = 60;

QToolButton* toolButton(const QString& text, const QString& tip) {
  auto* button = new QToolButton;
  button->setText(text);
  button->setToolTip(tip);
  button->setAccessibleName(tip);
  button->setAutoRaise(true);
  return button;
}

}  // namespace

QWidget* EventsPanel::makeEmpty(EmptyState*& state, const QString& button) {
  state = new EmptyState(QString(), button);
  return state;
}

void EventsPanel::buildLayout() {
  filter_ = new QLineEdit;
  filter_->setObjectName("eventsFilter");
  filter_->setClearButtonEnabled(true);
  filter_->setPlaceholderText(
      tr("Filter: allreduce  bucket:3  rank:1  kind:wait  step:10..20  >2ms"));
  filter_->setToolTip(SpanQuery::help());
  filter_->setAccessibleName(tr("Filter events"));
  range_ = new RangeButton(tr("List the whole run again"));
  range_->setObjectName("eventsRange");
  count_ = new ElidedLabel;
  count_->setObjectName("eventsCount");
  exportButton_ = new QPushButton(tr("Export CSV…"));
  exportButton_->setObjectName("eventsExport");

  table_ = new TableView(tr("Events"), TableView::Copies::kNothing);
  table_->setObjectName("eventsTable");
  table_->setAccessibleDescription(
      tr("One event a row. Enter shows it in the timeline, Ctrl+C copies rows."));
  table_->rowsModel().leaveSorting();
  table_->rowsModel().setPage(EventPages::kPageRows);
  showRows();
  table_->sortFromTheStart(static_cast<int>(EventColumn::kStart), Qt::AscendingOrder);
  QHeaderView* header = table_->horizontalHeader();
  header->setSectionsMovable(true);
  // Numbers are not squeezed into what is left of the window.
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);

  previousPage_ = toolButton(QStringLiteral("◀"), tr("Earlier rows"));
  previousPage_->setObjectName("eventsPreviousPage");
  nextPage_ = toolButton(QStringLiteral("▶"), tr("Further rows"));
  nextPage_->setObjectName("eventsNextPage");
  pageText_ = new QLabel;
  pages_ = new QWidget;
  auto* pageRow = new QHBoxLayout(pages_);
  pageRow->setContentsMargins(0, 0, 0, 0);
  pageRow->addStretch(1);
  pageRow->addWidget(pageText_);
  pageRow->addWidget(previousPage_);
  pageRow->addWidget(nextPage_);

  auto* bar = new QHBoxLayout;
  filter_->setMinimumWidth(18 * fontMetrics().averageCharWidth());
  bar->addWidget(filter_, 1);
  bar->addWidget(range_);
  bar->addWidget(count_);
  bar->addWidget(exportButton_);
  auto* stacked = new QWidget;
  stack_ = new QStackedLayout(stacked);
  stack_->addWidget(table_);
  stack_->addWidget(makeEmpty(nothing_, QString()));
  stack_->addWidget(makeEmpty(noMatch_, tr("Clear the filter")));
  stack_->addWidget(makeEmpty(outOfRange_, tr("List the whole run")));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(6, 6, 6, 6);
  column->setSpacing(6);
  column->addLayout(bar);
  column->addWidget(stacked, 1);
  column->addWidget(pages_);

  const auto wholeRun = [this] {
    if (state_ != nullptr) {
      state_->setFilter(std::nullopt);
    }
  };
  connect(filter_, &QLineEdit::textChanged, this, [this] {
    say({});
    refresh_->askWhenTyped();
  });
  connect(filter_, &QLineEdit::returnPressed, this, [this] { table_->setFocus(); });
  connect(range_, &RangeButton::clicked, this, wholeRun);
  connect(outOfRange_, &EmptyState::activated, this, wholeRun);
  connect(noMatch_, &EmptyState::activated, filter_, &QLineEdit::clear);
  connect(exportButton_, &QPushButton::clicked, this, &EventsPanel::chooseFile);
  connect(previousPage_, &QToolButton::clicked, this, [this] { setPage(rows_.page() - 1); });
  connect(nextPage_, &QToolButton::clicked, this, [this] { setPage(rows_.page() + 1); });
  connect(table_, &QTableView::activated, this, &EventsPanel::zoomToCurrent);
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
  auto* find = new QAction(tr("Filter events"), this);
  find->setShortcut(QKeySequence::Find);
  find->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  connect(find, &QAction::triggered, this, [this] {
    filter_->setFocus(Qt::ShortcutFocusReason);
    filter_->selectAll();
  });
  addAction(find);
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
  const bool open = run_ != nullptr && state_ != nullptr;
  const QString mistake = SpanQuery(filter_->text()).error();
  QString text;
  if (export_.busy()) {
    text = tr("Writing, %1 %…").arg(static_cast<int>(export_.progress() * 100));
  } else if (!said_.isEmpty()) {
    text = said_;
  } else if (!mistake.isEmpty()) {
    text = mistake;
  } else if (open) {
    text =
        tr("%1 of %2 events")
            .arg(formatCount(rows_.total()), formatCount(SpanSlices(*run_, std::nullopt).count()));
    if (search_.busy() && search_.progress() < 1) {
      text = tr("Searching, %1 %…").arg(static_cast<int>(search_.progress() * 100));
    }
  }
  count_->setWords(text);
  exportButton_->setText(export_.busy() ? tr("Stop writing") : tr("Export CSV…"));
  exportButton_->setToolTip(
      export_.busy() ? tr("Leave the file as it was")
                     : tr("Write everything listed into a file: times in ns, one event a line"));
  exportButton_->setEnabled(rows_.total() > 0);

  const auto& range = open ? state_->filter() : std::optional<TimeRange>();
  range_->setRange(range);
  const QString& stretch = range_->words();

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

  QWidget* shown = table_;
  if (rows_.total() == 0 && !search_.busy()) {
    shown = nothing_;
    if (!open) {
      nothing_->setSentence(tr("No run is open. Open one to list its events."));
    } else if (run_->spanCount() == 0) {
      nothing_->setSentence(run_->isLive()
                                ? tr("Nothing recorded yet. Events appear as ranks start up.")
                                : tr("This run recorded no events."));
    } else if (!filter_->text().trimmed().isEmpty()) {
      shown = noMatch_;
      noMatch_->setSentence(range ? tr("No event of %1 matches this filter.").arg(stretch)
                                  : tr("No event of this run matches this filter."));
    } else if (range) {
      shown = outOfRange_;
      outOfRange_->setSentence(tr("Nothing was recorded in %1.").arg(stretch));
    }
  }
  if (stack_->currentWidget() != shown) {
    stack_->setCurrentWidget(shown);
  }
  for (QAction* action : {zoom_, findAll_}) {
    if (action != nullptr) {
      action->setEnabled(rows_.total() > 0);
    }
  }
}

}  // namespace lockstep::ui
