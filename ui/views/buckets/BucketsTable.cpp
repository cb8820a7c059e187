#include "ui/views/buckets/BucketsTable.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QItemSelection>
#include <QScopedValueRollback>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

namespace lockstep::ui {
namespace {

QStringList rowText(const QAbstractItemModel& model, int row) {
  QStringList cells;
  for (int column = 0; column < model.columnCount(); ++column) {
    cells << model.index(row, column).data().toString();
  }
  return cells;
}

}  // namespace

BucketsTable::BucketsTable(QWidget* parent)
    : QWidget(parent), sorted_(new QSortFilterProxyModel(this)), view_(new QTableView) {
  sorted_->setSourceModel(&model_);
  sorted_->setSortRole(BucketsTableModel::kSortRole);
  view_->setObjectName("bucketsTable");
  view_->setAccessibleName(tr("Parameters and their buckets"));
  view_->setModel(sorted_);
  view_->setSortingEnabled(true);
  view_->sortByColumn(BucketsTableModel::kBucket, Qt::AscendingOrder);
  view_->setSelectionBehavior(QAbstractItemView::SelectRows);
  view_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view_->setTabKeyNavigation(false);
  view_->setShowGrid(false);
  view_->setAlternatingRowColors(true);
  view_->setWordWrap(false);
  view_->verticalHeader()->hide();
  view_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  view_->horizontalHeader()->setStretchLastSection(true);
  view_->horizontalHeader()->setHighlightSections(false);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(view_);

  auto* copy = new QAction(tr("Copy"), view_);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  view_->addAction(copy);
  view_->setContextMenuPolicy(Qt::ActionsContextMenu);
  connect(copy, &QAction::triggered, this,
          [this] { QGuiApplication::clipboard()->setText(asText()); });
  connect(view_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          &BucketsTable::chosen);
}

void BucketsTable::setStory(std::shared_ptr<const BucketStory> story) {
  const QScopedValueRollback quiet(quiet_, true);
  story_ = story;
  const bool wasEmpty = model_.rowCount() == 0;
  const int before = model_.columnCount();
  model_.setStory(std::move(story));
  if (model_.columnCount() != before || wasEmpty) {
    view_->resizeColumnsToContents();
  }
}

void BucketsTable::chosen() {
  const QModelIndex index = view_->currentIndex();
  if (quiet_ || !index.isValid()) {
    return;
  }
  const QModelIndex source = sorted_->mapToSource(index);
  const bool inRank =
      source.column() >= BucketsTableModel::kFirstReady && source.column() < model_.orderColumn();
  emit parameterChosen(source.row(),
                       inRank ? source.column() - BucketsTableModel::kFirstReady : -1);
}

void BucketsTable::showSelection(int parameter, int bucket) {
  const QScopedValueRollback quiet(quiet_, true);
  QItemSelection selection;
  QModelIndex first;
  const auto add = [&](std::uint32_t row) {
    const QModelIndex index = sorted_->mapFromSource(model_.index(static_cast<int>(row), 0));
    if (index.isValid()) {
      selection.select(index, index);
      first = first.isValid() && first.row() <= index.row() ? first : index;
    }
  };
  if (parameter >= 0) {
    add(static_cast<std::uint32_t>(parameter));
  } else if (bucket >= 0 && story_ != nullptr) {
    for (const std::uint32_t one :
         story_->layout.buckets[static_cast<std::size_t>(bucket)].parameters) {
      add(one);
    }
  }
  auto* chosenRows = view_->selectionModel();
  chosenRows->select(selection, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
  if (first.isValid()) {
    // Where the keyboard goes on from; the column that the user is in stays.
    const int column = std::max(0, view_->currentIndex().column());
    chosenRows->setCurrentIndex(first.siblingAtColumn(column), QItemSelectionModel::NoUpdate);
    view_->scrollTo(first);
  }
}

QString BucketsTable::asText() const {
  QStringList lines;
  QStringList header;
  for (int column = 0; column < sorted_->columnCount(); ++column) {
    header << sorted_->headerData(column, Qt::Horizontal).toString();
  }
  lines << header.join(QLatin1Char('\t'));
  QModelIndexList rows = view_->selectionModel()->selectedRows();
  std::sort(rows.begin(), rows.end(),
            [](const QModelIndex& a, const QModelIndex& b) { return a.row() < b.row(); });
  for (const QModelIndex& row : rows) {
    lines << rowText(*sorted_, row.row()).join(QLatin1Char('\t'));
  }
  for (int row = 0; rows.isEmpty() && row < sorted_->rowCount(); ++row) {
    lines << rowText(*sorted_, row).join(QLatin1Char('\t'));
  }
  return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

}  // namespace lockstep::ui
