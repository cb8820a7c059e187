#include "ui/panels/LogPanel.h"

#include <QComboBox>
#include <QPushButton>
#include <QScrollBar>
#include <limits>

#include "ui/model/Format.h"
#include "ui/panels/ElidedLabel.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/Spacing.h"
#include "ui/table/TableText.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {

LogPanel::LogPanel(QWidget* parent)
    : QWidget(parent),
      rank_(named(new QComboBox, "logRank", tr("Rank whose lines are shown"))),
      level_(named(new QComboBox, "logLevel", tr("Lowest level of lines that are shown"),
                   tr("What its writer said of a line; plain output has no level"))),
      text_(filterLine("logText", tr("Filter text"), tr("Text that lines must contain"))),
      pattern_(
          toolButton(QStringLiteral(".*"), tr("The text is a regular expression"), "logPattern")),
      words_(named(new ElidedLabel, "logWords")),
      view_(named(new TableView(tr("Log")), "logLines")) {
  setObjectName("logPanel");
  level_->addItem(tr("All lines"), static_cast<int>(LineLevel::kNone));
  level_->addItem(tr("Info and above"), static_cast<int>(LineLevel::kInfo));
  level_->addItem(tr("Warnings and errors"), static_cast<int>(LineLevel::kWarning));
  level_->addItem(tr("Errors"), static_cast<int>(LineLevel::kError));
  pattern_->setCheckable(true);
  pattern_->setAccessibleName(tr("The text is a regular expression"));
  auto* write =
      named(new QPushButton(tr("Export CSV…")), "", {}, tr("Write the lines shown into a file"));

  view_->rowsModel().setPage(std::numeric_limits<int>::max());  // its end is followed
  view_->setRows(lines_);
  const int em = fontMetrics().horizontalAdvance('m');
  view_->setColumnWidth(LogLines::kTime, 7 * em);
  view_->setColumnWidth(LogLines::kRank, 5 * em);
  view_->setColumnWidth(LogLines::kLevel, 6 * em);
  setWorldSize(0);

  auto* bar = inRow({rank_, level_, {text_, 1}, pattern_, words_, write});
  page_ = new ViewOrEmpty(
      fill(new QWidget, inColumn({bar, {view_, 1}}, kSpace), {kSpace, kSpace, kSpace, kSpace}),
      new EmptyState(tr("Nothing logged. What ranks print appears here."), QString()));
  fill(this, inColumn({page_}));

  connect(rank_, &QComboBox::currentIndexChanged, this, [this] {
    const QVariant data = rank_->currentData();
    filter_.rank = data.isValid() ? std::optional(data.toInt()) : std::nullopt;
    filter();
  });
  connect(level_, &QComboBox::currentIndexChanged, this, [this] {
    filter_.lowest = static_cast<LineLevel>(level_->currentData().toInt());
    filter();
  });
  connect(text_, &QLineEdit::textChanged, this, &LogPanel::filterText);
  connect(pattern_, &QToolButton::toggled, this, &LogPanel::filterText);
  connect(write, &QPushButton::clicked, this,
          [this] { exportTable(this, *view_->model(), QStringLiteral("log.csv")); });
  connect(&view_->rowsModel(), &RowsModel::arranged, this, &LogPanel::refreshWords);
}

const RowsModel& LogPanel::model() const {
  return view_->rowsModel();
}

void LogPanel::filterText() {
  filter_.setText(text_->text(), pattern_->isChecked());
  filter();
}

void LogPanel::filter() {
  const bool any = filter_.rank || filter_.lowest != LineLevel::kNone || !filter_.text.isEmpty();
  // The filter gets a copy: a long log is filtered on a thread of the pool while the user types on.
  view_->rowsModel().setFilter(
      any ? [filter = filter_](
                const TableRows& rows,
                std::size_t
                    row) { return filter.accepts(static_cast<const LogLines&>(rows).line(row)); }
          : RowsModel::Filter());
  refreshWords();
}

// Says how many lines are shown where not all are.
void LogPanel::refreshWords() {
  const QString mistake = filter_.mistake();
  const auto shown = static_cast<std::size_t>(view_->model()->rowCount());
  words_->setWords(!mistake.isEmpty() ? mistake
                   : shown == lines_->size()
                       ? QString()
                       : tr("%1 of %2 lines").arg(formatCount(shown), formatCount(lines_->size())));
}

void LogPanel::clear() {
  rank_->setCurrentIndex(0);
  text_->clear();
  setLines(std::make_shared<LogLines>(LogLines(), lines_->times()));
}

void LogPanel::setTimes(LogLines::Times times) {
  setLines(std::make_shared<LogLines>(*lines_, std::move(times)));
}

void LogPanel::setLines(std::shared_ptr<const LogLines> lines) {
  lines_ = std::move(lines);
  view_->setRows(lines_);
  page_->setEmpty(lines_->size() == 0);
}

void LogPanel::setWorldSize(int ranks) {
  if (rank_->count() == ranks + 2) {
    return;
  }
  // Clearing chooses "All ranks" again, and with that drops the filter by rank.
  rank_->clear();
  rank_->addItem(tr("All ranks"));
  rank_->addItem(tr("Supervisor"), -1);
  for (int rank = 0; rank < ranks; ++rank) {
    rank_->addItem(tr("Rank %1").arg(rank), rank);
  }
}

void LogPanel::append(std::span<const trace::LogRow> rows) {
  // Asked before the lines come, since afterwards the end is elsewhere. A line above it still
  // counts.
  const QScrollBar* bar = view_->verticalScrollBar();
  const bool atEnd = bar->value() >= bar->maximum() - bar->singleStep();
  setLines(std::make_shared<LogLines>(*lines_, rows));
  if (atEnd) {
    view_->scrollToBottom();
  }
}

}  // namespace lockstep::ui
