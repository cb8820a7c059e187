#include "ui/views/buckets/BucketsTable.h"

#include <QItemSelection>
#include <QScopedValueRollback>
#include <algorithm>
#include <utility>

namespace lockstep::ui {

BucketsTable::BucketsTable(QWidget* parent)
    : TableView(tr("Parameters and their buckets"), Copies::kRows, parent) {
  setObjectName("bucketsTable");
  setStory(nullptr);
  sortFromTheStart(BucketsTableRows::kBucket, Qt::AscendingOrder);
  connect(selectionModel(), &QItemSelectionModel::currentChanged, this, &BucketsTable::chosen);
}

void BucketsTable::setStory(std::shared_ptr<const BucketStory> story) {
  const QScopedValueRollback quiet(quiet_, true);
  const std::size_t columns = rows_ == nullptr ? 0 : rows_->columns().size();
  const bool wasEmpty = rows_ == nullptr || rows_->size() == 0;
  story_ = std::move(story);
  rows_ = std::make_shared<BucketsTableRows>(story_);
  setRows(rows_);
  // Widths that the user has set stay while the same table is filled anew.
  if (rows_->columns().size() != columns || wasEmpty) {
    resizeColumnsToContents();
  }
}

void BucketsTable::chosen() {
  const QModelIndex index = currentIndex();
  if (quiet_ || !index.isValid()) {
    return;
  }
  const auto column = static_cast<std::size_t>(index.column());
  const bool inRank = column >= BucketsTableRows::kFirstReady && column < rows_->orderColumn();
  // A cell in a rank's column means the parameter on that rank, any other the parameter alone.
  emit parameterChosen(static_cast<int>(rowsModel().rowAt(index.row())),
                       inRank ? static_cast<int>(column - BucketsTableRows::kFirstReady) : -1);
}

void BucketsTable::showSelection(int parameter, int bucket) {
  const QScopedValueRollback quiet(quiet_, true);
  QItemSelection selection;
  QModelIndex first;
  const auto add = [&](std::uint32_t row) {
    const QModelIndex index = model()->index(rowsModel().lineOf(row), 0);
    selection.select(index, index);
    // The topmost of them, to which the table scrolls.
    first = first.isValid() && first.row() <= index.row() ? first : index;
  };
  if (parameter >= 0) {
    add(static_cast<std::uint32_t>(parameter));
  } else if (bucket >= 0 && story_ != nullptr) {
    for (const std::uint32_t one :
         story_->layout.buckets[static_cast<std::size_t>(bucket)].parameters) {
      add(one);
    }
  }
  auto* chosenRows = selectionModel();
  chosenRows->select(selection, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
  if (first.isValid()) {
    // Where the keyboard goes on from; the column that the user is in stays.
    const int column = std::max(0, currentIndex().column());
    chosenRows->setCurrentIndex(first.siblingAtColumn(column), QItemSelectionModel::NoUpdate);
    scrollTo(first);
  }
}

}  // namespace lockstep::ui
