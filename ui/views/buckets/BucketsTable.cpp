#include "ui/views/buckets/BucketsTable.h"

#include <QHeaderView>
#include <QItemSelection>
#include <QScopedValueRollback>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "ui/panels/TableText.h"

namespace lockstep::ui {

BucketsTable::BucketsTable(QWidget* parent)
    : QWidget(parent), sorted_(new QSortFilterProxyModel(this)), view_(new QTableView) {
  sorted_->setSourceModel(&model_);
  sorted_->setSortRole(BucketsTableModel::kSortRole);
  view_->setObjectName("bucketsTable");
  view_->setAccessibleName(tr("Parameters and their buckets"));
  view_->setModel(sorted_);
  view_->setSortingEnabled(true);
  view_->sortByColumn(BucketsTableModel::kBucket, Qt::AscendingOrder);
  prepareTable(*view_);
  view_->horizontalHeader()->setStretchLastSection(true);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(view_);

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
  return rowsAsText(*view_);
}

}  // namespace lockstep::ui
