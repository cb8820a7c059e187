#include "ui/views/overlap/OverlapTables.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace lockstep::ui {
OverlapTable::OverlapTable(std::vector<Column> columns, QObject* parent)
    : QAbstractTableModel(parent), columns_(std::move(columns)) {}

void OverlapTable::setContent(std::shared_ptr<const OverlapContent> content) {
  const std::size_t before = order_.size();
  const std::size_t after = content == nullptr ? 0 : rows(*content);
  // A live run's table grows: selection and scrolling stay.
  if (before != 0 && after >= before) {
    if (after > before) {
      beginInsertRows({}, static_cast<int>(before), static_cast<int>(after) - 1);
    }
    content_ = std::move(content);
    order();
    if (after > before) {
      endInsertRows();
    }
    emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    return;
  }
  beginResetModel();
  content_ = std::move(content);
  order();
  endResetModel();
}

void OverlapTable::order() {
  order_.resize(content_ == nullptr ? 0 : rows(*content_));
  std::iota(order_.begin(), order_.end(), 0u);
  if (sortColumn_ < 0 || order_.empty()) {
    return;
  }
  const auto column = static_cast<std::size_t>(sortColumn_);
  const bool up = direction_ == Qt::AscendingOrder;
  if (columns_[column].number) {
    std::vector<double> keys(order_.size());
    for (std::size_t row = 0; row < keys.size(); ++row) {
      keys[row] = number(row, column);
    }
    // What has no number stands last, whichever way.
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (std::isnan(keys[a]) || std::isnan(keys[b])) {
        return !std::isnan(keys[a]) && std::isnan(keys[b]);
      }
      return up ? keys[a] < keys[b] : keys[b] < keys[a];
    });
    return;
  }
  std::vector<QString> keys(order_.size());
  for (std::size_t row = 0; row < keys.size(); ++row) {
    keys[row] = textOf(row, column);
  }
  std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return up ? keys[a] < keys[b] : keys[b] < keys[a];
  });
}

void OverlapTable::sort(int column, Qt::SortOrder direction) {
  if (column == sortColumn_ && direction == direction_) {
    return;
  }
  emit layoutAboutToBeChanged({}, VerticalSortHint);
  const QModelIndexList kept = persistentIndexList();
  std::vector<std::size_t> rowsKept;
  for (const QModelIndex& index : kept) {
    rowsKept.push_back(rowAt(index.row()));
  }
  sortColumn_ = column;
  direction_ = direction;
  order();
  QModelIndexList moved;
  for (qsizetype i = 0; i < kept.size(); ++i) {
    moved << index(lineOf(rowsKept[static_cast<std::size_t>(i)]), kept[i].column());
  }
  changePersistentIndexList(kept, moved);
  emit layoutChanged({}, VerticalSortHint);
}

int OverlapTable::lineOf(std::size_t row) const {
  if (sortColumn_ < 0) {
    return row < order_.size() ? static_cast<int>(row) : -1;
  }
  const auto at = std::find(order_.begin(), order_.end(), row);
  return at == order_.end() ? -1 : static_cast<int>(at - order_.begin());
}

int OverlapTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(order_.size());
}

int OverlapTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(columns_.size());
}

QString OverlapTable::textOf(std::size_t row, std::size_t column) const {
  if (auto own = text(row, column)) {
    return *std::move(own);
  }
  const double value = number(row, column);
  return std::isnan(value) ? QString() : QString::number(value, 'f', 3);
}

QVariant OverlapTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) {
    return {};
  }
  const auto column = static_cast<std::size_t>(index.column());
  switch (role) {
    case Qt::DisplayRole:
      return textOf(rowAt(index.row()), column);
    case Qt::ToolTipRole:
      return columns_[column].number ? QString() : textOf(rowAt(index.row()), column);
    case Qt::EditRole:
      return columns_[column].number ? QVariant(number(rowAt(index.row()), column))
                                     : QVariant(textOf(rowAt(index.row()), column));
    case Qt::TextAlignmentRole:
      return static_cast<int>((columns_[column].number ? Qt::AlignRight : Qt::AlignLeft) |
                              Qt::AlignVCenter);
    default:
      return {};
  }
}

QVariant OverlapTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) {
    return {};
  }
  const Column& column = columns_[static_cast<std::size_t>(section)];
  switch (role) {
    case Qt::DisplayRole:
      return column.title;
    case Qt::ToolTipRole:
      return column.tip;
    case Qt::TextAlignmentRole:
      return static_cast<int>((column.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    default:
      return {};
  }
}

}  // namespace lockstep::ui
