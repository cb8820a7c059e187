#include "ui/panels/LogPanel.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <limits>

#include "ui/model/Format.h"
#include "ui/panels/ElidedLabel.h"
#include "ui/panels/EmptyState.h"
#include "ui/table/TableText.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {

LogPanel::LogPanel(QWidget* parent)
    : QWidget(parent),
      rank_(new QComboBox),
      level_(new QComboBox),
      text_(new QLineEdit),
      pattern_(new QToolButton),
      words_(new ElidedLabel),
      view_(new TableView(tr("Log"))) {
  setObjectName("logPanel");
  rank_->setObjectName("logRank");
  rank_->setAccessibleName(tr("Rank whose lines are shown"));
  level_->setObjectName("logLevel");
  level_->setAccessibleName(tr("Lowest level of lines that are shown"));
  level_->addItem(tr("All lines"), static_cast<int>(LineLevel::kNone));
  level_->addItem(tr("Info and above"), static_cast<int>(LineLevel::kInfo));
  level_->addItem(tr("Warnings and errors"), static_cast<int>(LineLevel::kWarning));
  level_->addItem(tr("Errors"), static_cast<int>(LineLevel::kError));
  level_->setToolTip(tr("What its writer said of a line; plain output has no level"));
  text_->setObjectName("logText");
  text_->setPlaceholderText(tr("Filter text"));
  text_->setAccessibleName(tr("Text that lines must contain"));
  text_->setClearButtonEnabled(true);
  pattern_->setObjectName("logPattern");
  pattern_->setText(QStringLiteral(".*"));
  pattern_->setCheckable(true);
  pattern_->setToolTip(tr("The text is a regular expression"));
  pattern_->setAccessibleName(tr("The text is a regular expression"));
  words_->setObjectName("logWords");
  auto* write = new QPushButton(tr("Export CSV…"));
  write->setToolTip(tr("Write the lines shown into a file"));

  view_->setObjectName("logLines");
  view_->rowsModel().setPage(std::numeric_limits<int>::max());  // its end is followed
  view_->setRows(lines_);
  const int em = fontMetrics().horizontalAdvance('m');
  view_->setColumnWidth(LogLines::kTime, 7 * em);
  view_->setColumnWidth(LogLines::kRank, 5 * em);
  view_->setColumnWidth(LogLines::kLevel, 6 * em);
  setWorldSize(0);

  auto* content = new QWidget;
  auto* bar = new QHBoxLayout;
  bar->addWidget(rank_);
  bar->addWidget(level_);
  bar->addWidget(text_, 1);
  bar->addWidget(pattern_);
  bar->addWidget(words_);
  bar->addWidget(write);
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(6, 6, 6, 6);
  column->setSpacing(6);
  column->addLayout(bar);
  column->addWidget(view_, 1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  page_ = new ViewOrEmpty(
      content, new EmptyState(tr("Nothing logged. What ranks print appears here."), QString()));
  layout->addWidget(page_);

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
  rank_->clear();
  rank_->addItem(tr("All ranks"));
  rank_->addItem(tr("Supervisor"), -1);
  for (int rank = 0; rank < ranks; ++rank) {
    rank_->addItem(tr("Rank %1").arg(rank), rank);
  }
}

void LogPanel::append(std::span<const trace::LogRow> rows) {
  const QScrollBar* bar = view_->verticalScrollBar();
  const bool atEnd = bar->value() >= bar->maximum() - bar->singleStep();
  setLines(std::make_shared<LogLines>(*lines_, rows));
  if (atEnd) {
    view_->scrollToBottom();
  }
}

}  // namespace lockstep::ui
