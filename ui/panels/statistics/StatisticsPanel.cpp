#include "ui/panels/statistics/StatisticsPanel.h"

#include <QAction>
#include <QComboBox>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QPushButton>
#include <QScrollBar>

#include "engine/export/OutputFile.h"
#include "engine/export/StatisticsTable.h"
#include "ui/model/Format.h"
#include "ui/panels/ElidedLabel.h"
#include "ui/panels/Labels.h"
#include "ui/panels/LocalFiles.h"
#include "ui/panels/RunRefresh.h"
#include "ui/table/TableText.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {

StatisticsPanel::StatisticsPanel(QWidget* parent)
    : RunTablePanel({.name = "statistics",
                     .filterHint = tr("Count only: rank:1  bucket:3  step:10..20  kind:wait  >2ms"),
                     .filterCalled = tr("Filter what is counted"),
                     .rangeTip = tr("Measure the whole run again"),
                     .wholeRun = tr("Measure the whole run")},
                    new TableView(tr("Statistics")), parent),
      groupBy_(named(new QComboBox, "statisticsGroupBy", tr("What is counted together"),
                     tr("What is counted together"))),
      events_(named(new QPushButton(tr("Show in Events")), "statisticsEvents")),
      export_(named(new QPushButton(tr("Export CSV…")), "", {},
                    tr("Write these rows into a file: times in ns"))) {
  buildBar();
  buildTable();
  buildActions();
  connect(refresh_, &RunRefresh::due, this, &StatisticsPanel::measure);
  connect(&search_, &StatisticsSearch::found, this, &StatisticsPanel::take);
  refreshWords();
}

StatisticsPanel::~StatisticsPanel() {
  search_.cancel();
}

void StatisticsPanel::setRun(RunModel* model, ViewState* state) {
  search_.cancel();
  shown_.reset();
  askedBy_ = by_;
  setRows({});
  takeRun(model, state);
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

void StatisticsPanel::measure() {
  const SpanQuery query(filter_->text());
  if (!open() || !query.error().isEmpty()) {
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
  // The row is chosen again by what it is called: it may stand elsewhere now.
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
  const QString typed = filterText();
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
  const QString run = QString::fromStdString(run_->path().string());
  exportFile(this, fileBeside(run, QStringLiteral("-statistics.csv")),
             [this](const QString& path) { return writeTo(path); });
}

// --- what it is made of, and what its labels say ---

void StatisticsPanel::buildBar() {
  for (int i = 0; i < kGroupings; ++i) {
    const auto by = static_cast<GroupBy>(i);
    groupBy_->addItem(tr("By %1").arg(titleOf(by).toLower()), i);
    groupBy_->setItemData(i, meaningOf(by), Qt::ToolTipRole);
  }
  groupBy_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  groupBy_->setMinimumContentsLength(12);
  layOut({groupBy_}, {events_, export_});
  connect(groupBy_, &QComboBox::currentIndexChanged, this, [this](int index) {
    by_ = static_cast<GroupBy>(groupBy_->itemData(index).toInt());
    refresh_->ask();
  });
  connect(filter_, &QLineEdit::textChanged, refresh_, &RunRefresh::askWhenTyped);
  connect(export_, &QPushButton::clicked, this, &StatisticsPanel::exportRows);
}

void StatisticsPanel::buildTable() {
  table_->setAccessibleDescription(
      tr("Enter lists the spans of a row in Events, Ctrl+C copies rows."));
  table_->horizontalHeader()->setSectionsMovable(true);
  table_->horizontalHeader()->setStretchLastSection(false);
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  setRows({});
  table_->sortFromTheStart(StatisticsTable::kTotal, Qt::DescendingOrder);
}

void StatisticsPanel::buildActions() {
  showEvents_ = new QAction(tr("Show in Events"), table_);
  find_ = new QAction(tr("Find all in the timeline"), table_);
  auto* write = new QAction(tr("Export CSV…"), table_);
  table_->insertActions(table_->actions().value(0), {showEvents_, find_});
  table_->addAction(write);
  table_->setContextMenuPolicy(Qt::ActionsContextMenu);
  const auto asking = [this](auto requested) {
    return [this, requested] {
      if (const QString query = currentQuery(); !query.isEmpty()) {
        emit(this->*requested)(query);
      }
    };
  };
  const auto showEvents = asking(&StatisticsPanel::eventsRequested);
  connect(showEvents_, &QAction::triggered, this, showEvents);
  connect(events_, &QPushButton::clicked, this, showEvents);
  connect(table_, &QTableView::activated, this, showEvents);
  connect(find_, &QAction::triggered, this, asking(&StatisticsPanel::findRequested));
  connect(write, &QAction::triggered, this, &StatisticsPanel::exportRows);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &StatisticsPanel::refreshWords);
}

void StatisticsPanel::refreshWords() {
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

  showRange();

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

  showTable(rows_->rows().empty() && !search_.busy(),
            {.noRun = tr("No run is open. Open one to see its statistics."),
             .notYet = tr("Nothing recorded yet. Statistics appear as ranks start up."),
             .noMatch = tr("Nothing that was measured matches this filter."),
             .outOfRange = shown_ && shown_->of == 0,
             .none = by_ == GroupBy::kHook
                         ? tr("No communication hook ran: there is nothing of it to count.")
                         : tr("There is nothing to count by %1.").arg(titleOf(by_).toLower())});
}

}  // namespace lockstep::ui
