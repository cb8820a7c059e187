#include "ui/views/divergence/RowsModel.h"

#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>
#include <algorithm>
#include <numeric>
#include <utility>

#include "ui/model/BackgroundJob.h"
#include "ui/panels/CurrentPalette.h"

namespace lockstep::ui {
namespace {

// Sorted at once up to here: well within a frame.
constexpr std::size_t kSortedAtOnce = 5'000;

// Puts unknown keys last; `before` compares known ones.
template <typename Key, typename Before>
void sortBy(std::vector<std::uint32_t>& order, const std::vector<std::optional<Key>>& keys,
            Before before) {
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (!keys[a] || !keys[b]) {
      return keys[a].has_value() && !keys[b].has_value();
    }
    return before(*keys[a], *keys[b]);
  });
}

template <typename Key>
void sortBy(std::vector<std::uint32_t>& order, const std::vector<std::optional<Key>>& keys,
            Qt::SortOrder direction) {
  if (direction == Qt::AscendingOrder) {
    sortBy(order, keys, [](const Key& a, const Key& b) { return a < b; });
  } else {
    sortBy(order, keys, [](const Key& a, const Key& b) { return b < a; });
  }
}

}  // namespace

RowsModel::Order RowsModel::orderOf(const TableRows& rows, int column, Qt::SortOrder direction) {
  const auto at = static_cast<std::size_t>(column);
  Order order(rows.size());
  std::iota(order.begin(), order.end(), 0u);
  if (rows.columns()[at].number) {
    std::vector<std::optional<double>> keys(rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      keys[row] = rows.number(row, at);
    }
    sortBy(order, keys, direction);
  } else {
    std::vector<std::optional<QString>> keys(rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      keys[row] = rows.text(row, at);
    }
    sortBy(order, keys, direction);
  }
  return order;
}

void RowsModel::setRows(std::shared_ptr<const TableRows> rows) {
  const bool sameShape =
      rows != nullptr && rows_ != nullptr && rows->columns().size() == rows_->columns().size();
  beginResetModel();
  ++ticket_;
  rows_ = std::move(rows);
  order_.clear();
  lines_.clear();
  if (!sameShape) {
    sortColumn_ = -1;
  }
  const int wanted = sameShape ? std::max(handedOut_, kPage) : kPage;
  handedOut_ = rows_ == nullptr ? 0
                                : static_cast<int>(std::min<std::size_t>(
                                      rows_->size(), static_cast<std::size_t>(wanted)));
  endResetModel();
  if (rows_ != nullptr && sortColumn_ >= 0) {
    sort(sortColumn_, direction_);
  }
}

std::size_t RowsModel::rowAt(int line) const {
  const auto at = static_cast<std::size_t>(line);
  return order_.empty() ? at : order_[at];
}

int RowsModel::lineOf(std::size_t row) {
  if (!order_.empty() && lines_.empty()) {
    lines_.resize(order_.size());
    for (std::size_t line = 0; line < order_.size(); ++line) {
      lines_[order_[line]] = static_cast<std::uint32_t>(line);
    }
  }
  const int line = static_cast<int>(order_.empty() ? row : lines_[row]);
  grow(line + 1);
  return line;
}

int RowsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : handedOut_;
}

int RowsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() || rows_ == nullptr ? 0 : static_cast<int>(rows_->columns().size());
}

QVariant RowsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) {
    return {};
  }
  const std::size_t row = rowAt(index.row());
  const auto column = static_cast<std::size_t>(index.column());
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
      return rows_->text(row, column);
    case Qt::ForegroundRole:
      return rows_->warns(row) ? QVariant(currentPalette().warning) : QVariant();
    case Qt::TextAlignmentRole:
      return QVariant((rows_->columns()[column].number ? Qt::AlignRight : Qt::AlignLeft) |
                      Qt::AlignVCenter);
    default:
      return {};
  }
}

QVariant RowsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) {
    return {};
  }
  const TableRows::Column& column = rows_->columns()[static_cast<std::size_t>(section)];
  switch (role) {
    case Qt::DisplayRole:
      return column.title;
    case Qt::ToolTipRole:
      return column.tip;
    case Qt::TextAlignmentRole:
      return QVariant((column.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    default:
      return {};
  }
}

bool RowsModel::canFetchMore(const QModelIndex& parent) const {
  return !parent.isValid() && rows_ != nullptr &&
         static_cast<std::size_t>(handedOut_) < rows_->size();
}

void RowsModel::fetchMore(const QModelIndex& parent) {
  if (canFetchMore(parent)) {
    grow(handedOut_ + kPage);
  }
}

void RowsModel::grow(int lines) {
  const int wanted =
      static_cast<int>(std::min<std::size_t>(rows_->size(), static_cast<std::size_t>(lines)));
  if (wanted > handedOut_) {
    beginInsertRows({}, handedOut_, wanted - 1);
    handedOut_ = wanted;
    endInsertRows();
  }
}

void RowsModel::sort(int column, Qt::SortOrder direction) {
  sortColumn_ = column;
  direction_ = direction;
  const std::uint64_t ticket = ++ticket_;
  if (rows_ == nullptr) {
    return;
  }
  if (column < 0 || column >= columnCount()) {
    take({});
  } else if (rows_->size() <= kSortedAtOnce) {
    take(orderOf(*rows_, column, direction));
  } else {
    backgroundPool().start(
        [rows = rows_, column, direction, ticket, self = QPointer<RowsModel>(this)] {
          Order order = orderOf(*rows, column, direction);
          QMetaObject::invokeMethod(
              QCoreApplication::instance(),
              [self, ticket, order = std::move(order)]() mutable {
                if (self && self->ticket_ == ticket) {
                  self->take(std::move(order));
                }
              },
              Qt::QueuedConnection);
        });
  }
}

void RowsModel::take(Order order) {
  emit layoutAboutToBeChanged();
  const QModelIndexList before = persistentIndexList();
  std::vector<std::size_t> rows;
  for (const QModelIndex& index : before) {
    rows.push_back(rowAt(index.row()));
  }
  order_ = std::move(order);
  lines_.clear();
  QModelIndexList after;
  for (int i = 0; i < before.size(); ++i) {
    // A row that now stands beyond what was handed out is let go.
    const std::size_t row = rows[static_cast<std::size_t>(i)];
    const auto line = order_.empty()
                          ? row
                          : static_cast<std::size_t>(std::find(order_.begin(), order_.end(), row) -
                                                     order_.begin());
    after << (line < static_cast<std::size_t>(handedOut_)
                  ? index(static_cast<int>(line), before[i].column())
                  : QModelIndex());
  }
  changePersistentIndexList(before, after);
  emit layoutChanged();
  emit sorted();
}

}  // namespace lockstep::ui
