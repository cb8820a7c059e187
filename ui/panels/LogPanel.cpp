#include "ui/panels/LogPanel.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QListView>
#include <QScrollBar>
#include <QVBoxLayout>

#include "ui/panels/EmptyState.h"

namespace lockstep::ui {

LogPanel::LogPanel(QWidget* parent)
    : QWidget(parent), rank_(new QComboBox), text_(new QLineEdit), view_(new QListView) {
  setObjectName("logPanel");
  filter_.setSourceModel(&model_);
  rank_->setObjectName("logRank");
  rank_->setAccessibleName(tr("Rank whose lines are shown"));
  text_->setObjectName("logText");
  text_->setPlaceholderText(tr("Filter text"));
  text_->setAccessibleName(tr("Text that lines must contain"));
  text_->setClearButtonEnabled(true);
  view_->setObjectName("logLines");
  view_->setAccessibleName(tr("Log"));
  view_->setModel(&filter_);
  view_->setUniformItemSizes(true);
  view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  view_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  QFont fixed = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  fixed.setPointSizeF(font().pointSizeF());
  view_->setFont(fixed);
  setWorldSize(0);

  auto* copy = new QAction(tr("Copy"), view_);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  connect(copy, &QAction::triggered, this, &LogPanel::copySelected);
  view_->addAction(copy);
  view_->setContextMenuPolicy(Qt::ActionsContextMenu);

  auto* content = new QWidget;
  auto* bar = new QHBoxLayout;
  bar->addWidget(rank_);
  bar->addWidget(text_, 1);
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
  });
  connect(text_, &QLineEdit::textChanged, &filter_, &LogFilter::setText);
}

void LogPanel::clear() { model_.clear(); }

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
  if (atEnd) {
    view_->scrollToBottom();
  }
}

void LogPanel::copySelected() const {
  QModelIndexList selected = view_->selectionModel()->selectedIndexes();
  std::sort(selected.begin(), selected.end());
  QStringList lines;
  for (const QModelIndex& index : selected) {
    lines.append(index.data().toString());
  }
  QApplication::clipboard()->setText(lines.join('\n'));
}

}  // namespace lockstep::ui
