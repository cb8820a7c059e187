#include <QAction>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QStackedLayout>
#include <QVBoxLayout>

#include "ui/model/Format.h"
#include "ui/panels/ElidedLabel.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/RangeButton.h"
#include "ui/panels/RunRefresh.h"
#include "ui/panels/statistics/StatisticsPanel.h"
#include "ui/table/TableView.h"

// What the panel is made of, and what its labels say.
namespace lockstep::ui {

void StatisticsPanel::buildLayout() {
  groupBy_ = new QComboBox;
  groupBy_->setObjectName("statisticsGroupBy");
  groupBy_->setAccessibleName(tr("What is counted together"));
  for (int i = 0; i < kGroupings; ++i) {
    const auto by = static_cast<GroupBy>(i);
    groupBy_->addItem(tr("By %1").arg(titleOf(by).toLower()), i);
    groupBy_->setItemData(i, meaningOf(by), Qt::ToolTipRole);
  }
  groupBy_->setToolTip(tr("What is counted together"));
  filter_ = new QLineEdit;
  filter_->setObjectName("statisticsFilter");
  filter_->setClearButtonEnabled(true);
  filter_->setPlaceholderText(tr("Count only: rank:1  bucket:3  step:10..20  kind:wait  >2ms"));
  filter_->setToolTip(SpanQuery::help());
  filter_->setAccessibleName(tr("Filter what is counted"));
  range_ = new RangeButton(tr("Measure the whole run again"));
  range_->setObjectName("statisticsRange");
  words_ = new ElidedLabel;
  words_->setObjectName("statisticsWords");
  events_ = new QPushButton(tr("Show in Events"));
  events_->setObjectName("statisticsEvents");
  export_ = new QPushButton(tr("Export CSV…"));
  export_->setToolTip(tr("Write these rows into a file: times in ns"));

  table_ = new TableView(tr("Statistics"));
  table_->setObjectName("statisticsTable");
  table_->setAccessibleDescription(
      tr("Enter lists the spans of a row in Events, Ctrl+C copies rows."));
  table_->horizontalHeader()->setSectionsMovable(true);
  table_->horizontalHeader()->setStretchLastSection(false);
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  setRows({});
  table_->sortFromTheStart(StatisticsTable::kTotal, Qt::DescendingOrder);

  filter_->setMinimumWidth(18 * fontMetrics().averageCharWidth());
  groupBy_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  groupBy_->setMinimumContentsLength(12);
  auto* bar = new QHBoxLayout;
  bar->addWidget(groupBy_);
  bar->addWidget(filter_, 1);
  bar->addWidget(range_);
  bar->addWidget(words_);
  bar->addWidget(events_);
  bar->addWidget(export_);
  nothing_ = new EmptyState(QString(), QString());
  noMatch_ =
      new EmptyState(tr("Nothing that was measured matches this filter."), tr("Clear the filter"));
  outOfRange_ = new EmptyState(QString(), tr("Measure the whole run"));
  auto* stacked = new QWidget;
  stack_ = new QStackedLayout(stacked);
  for (QWidget* page : std::initializer_list<QWidget*>{table_, nothing_, noMatch_, outOfRange_}) {
    stack_->addWidget(page);
  }
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(6, 6, 6, 6);
  column->setSpacing(6);
  column->addLayout(bar);
  column->addWidget(stacked, 1);

  const auto wholeRun = [this] {
    if (state_ != nullptr) {
      state_->setFilter(std::nullopt);
    }
  };
  connect(groupBy_, &QComboBox::currentIndexChanged, this, [this](int index) {
    by_ = static_cast<GroupBy>(groupBy_->itemData(index).toInt());
    refresh_->ask();
  });
  connect(filter_, &QLineEdit::textChanged, refresh_, &RunRefresh::askWhenTyped);
  connect(range_, &RangeButton::clicked, this, wholeRun);
  connect(outOfRange_, &EmptyState::activated, this, wholeRun);
  connect(noMatch_, &EmptyState::activated, filter_, &QLineEdit::clear);
  connect(export_, &QPushButton::clicked, this, &StatisticsPanel::exportRows);
}

void StatisticsPanel::buildActions() {
  showEvents_ = new QAction(tr("Show in Events"), table_);
  find_ = new QAction(tr("Find all in the timeline"), table_);
  auto* write = new QAction(tr("Export CSV…"), table_);
  table_->insertActions(table_->actions().value(0), {showEvents_, find_});
  table_->addAction(write);
  table_->setContextMenuPolicy(Qt::ActionsContextMenu);
  const auto showEvents = [this] {
    if (const QString query = currentQuery(); !query.isEmpty()) {
      emit eventsRequested(query);
    }
  };
  connect(showEvents_, &QAction::triggered, this, showEvents);
  connect(events_, &QPushButton::clicked, this, showEvents);
  connect(table_, &QTableView::activated, this, showEvents);
  connect(find_, &QAction::triggered, this, [this] {
    if (const QString query = currentQuery(); !query.isEmpty()) {
      emit findRequested(query);
    }
  });
  connect(write, &QAction::triggered, this, &StatisticsPanel::exportRows);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &StatisticsPanel::refreshWords);
}

void StatisticsPanel::refreshWords() {
  const bool open = run_ != nullptr && state_ != nullptr;
  const QString mistake = SpanQuery(filter_->text()).error();
  QString text;
  QString tip;
  if (!mistake.isEmpty()) {
    text = mistake;
  } else if (shown_ && shown_->measured < shown_->of) {
    text = tr("measured over the latest %1 of %2 events")
               .arg(formatCount(shown_->measured), formatCount(shown_->of));
    tip = run_ != nullptr && run_->isLive()
              ? tr("The whole run is measured once it has ended.")
              : tr("More would take too long. Choose a range in the timeline (Ctrl+drag) to "
                   "measure another part.");
  } else if (shown_) {
    text = tr("%1 events in %2")
               .arg(formatCount(shown_->measured), formatDuration(shown_->range.lengthNs()));
    tip = tr("of %1").arg(formatCounted(static_cast<std::uint64_t>(shown_->ranks), "rank"));
  }
  words_->setWords(text, tip);

  const auto& range = open ? state_->filter() : std::optional<TimeRange>();
  range_->setRange(range);
  const QString& stretch = range_->words();

  const StatisticsRow* current = currentRow();
  const bool canAsk = !currentQuery().isEmpty();
  showEvents_->setEnabled(canAsk);
  find_->setEnabled(canAsk);
  events_->setEnabled(canAsk);
  events_->setToolTip(canAsk ? tr("List the spans of the chosen row (Enter)")
                      : current == nullptr
                          ? tr("Choose a row first")
                          : tr("A phase cannot be searched for: group by something else"));
  export_->setEnabled(!rows_->rows().empty());

  QWidget* shown = table_;
  if (rows_->rows().empty() && !search_.busy()) {
    shown = nothing_;
    if (!open) {
      nothing_->setSentence(tr("No run is open. Open one to see its statistics."));
    } else if (run_->spanCount() == 0) {
      nothing_->setSentence(run_->isLive()
                                ? tr("Nothing recorded yet. Statistics appear as ranks start up.")
                                : tr("This run recorded no events."));
    } else if (!filter_->text().trimmed().isEmpty()) {
      shown = noMatch_;
    } else if (range && shown_ && shown_->of == 0) {
      shown = outOfRange_;
      outOfRange_->setSentence(tr("Nothing was recorded in %1.").arg(stretch));
    } else {
      nothing_->setSentence(
          by_ == GroupBy::kHook
              ? tr("No communication hook ran: there is nothing of it to count.")
              : tr("There is nothing to count by %1.").arg(titleOf(by_).toLower()));
    }
  }
  if (stack_->currentWidget() != shown) {
    stack_->setCurrentWidget(shown);
  }
}

}  // namespace lockstep::ui
