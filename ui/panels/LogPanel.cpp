#include "ui/panels/LogPanel.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/model/Format.h"
#include "ui/panels/ElidedLabel.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/TableText.h"

namespace lockstep::ui {

LogPanel::LogPanel(QWidget* parent)
    : QWidget(parent),
      rank_(new QComboBox),
      level_(new QComboBox),
      text_(new QLineEdit),
      pattern_(new QToolButton),
      words_(new ElidedLabel),
      view_(new QTableView) {
  setObjectName("logPanel");
  filter_.setSourceModel(&model_);
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
  setUpTwin(*view_, filter_, tr("Log"));
  const int em = fontMetrics().horizontalAdvance('m');
  view_->setColumnWidth(LogModel::kTime, 7 * em);
  view_->setColumnWidth(LogModel::kRank, 5 * em);
  view_->setColumnWidth(LogModel::kLevel, 6 * em);
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
  layout->addWidget(new ViewOrEmpty(
      content, &model_,
      new EmptyState(tr("Nothing logged. What ranks print appears here."), QString())));

  connect(rank_, &QComboBox::currentIndexChanged, this, [this] {
    const QVariant data = rank_->currentData();
    filter_.setRank(data.isValid() ? std::optional(data.toInt()) : std::nullopt);
    refreshWords();
  });
  connect(level_, &QComboBox::currentIndexChanged, this, [this] {
    filter_.setLevel(static_cast<LineLevel>(level_->currentData().toInt()));
    refreshWords();
  });
  connect(text_, &QLineEdit::textChanged, this, &LogPanel::filterText);
  connect(pattern_, &QToolButton::toggled, this, &LogPanel::filterText);
  connect(write, &QPushButton::clicked, this,
          [this] { exportTable(this, filter_, QStringLiteral("log.csv")); });
}

void LogPanel::filterText() {
  filter_.setText(text_->text(), pattern_->isChecked());
  refreshWords();
}

// Says how many lines are shown where not all are.
void LogPanel::refreshWords() {
  const QString mistake = filter_.mistake();
  const int shown = filter_.rowCount();
  words_->setWords(!mistake.isEmpty() ? mistake
                   : shown == model_.rowCount()
                       ? QString()
                       : tr("%1 of %2 lines")
                             .arg(formatCount(static_cast<std::uint64_t>(shown)),
                                  formatCount(static_cast<std::uint64_t>(model_.rowCount()))));
}

void LogPanel::clear() {
  model_.clear();
  refreshWords();
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
  model_.append(rows);
  refreshWords();
  if (atEnd) {
    view_->scrollToBottom();
  }
}

}  // namespace lockstep::ui
