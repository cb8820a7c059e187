#include "ui/table/RowsModel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ui/model/Terms.h"

namespace lockstep::ui {
namespace {

// Sorted at once up to here: well within a frame.
constexpr std::size_t kSortedAtOnce = 5'000;
constexpr std::uint32_t kNoLine = std::numeric_limits<std::uint32_t>::max();

std::optional<double> keyOf(const TableRows& rows, std::size_t row, std::size_t column) {
  const auto key = rows.number(row, column);
  return key && std::isnan(*key) ? std::nullopt : key;
}

// Puts unknown keys last; `before` compares known ones.
template <typename Key, typename Before>
void sortBy(std::vector<std::uint32_t>& order, const std::vector<std::optional<Key>>& keys, bool up,
            Before before) {
  // Stable: equal rows keep the order that they have unsorted.
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    // Unknown ones are last in both directions: they are no small and no large values.
    if (!keys[a] || !keys[b]) {
      return keys[a].has_value() && !keys[b].has_value();
    }
    return up ? before(*keys[a], *keys[b]) : before(*keys[b], *keys[a]);
  });
}

// Keys are fetched once a row and not twice a comparison: a key may be a text that is put together.
void sortByNumber(std::vector<std::uint32_t>& order, const TableRows& rows, std::size_t column,
                  bool up) {
  std::vector<std::optional<double>> keys(rows.size());
  for (const std::uint32_t row : order) {
    keys[row] = keyOf(rows, row, column);
  }
  sortBy(order, keys, up, [](double a, double b) { return a < b; });
}

}  // namespace

bool RowsModel::Arrangement::sorts(const TableRows& rows) const {
  return column >= 0 && static_cast<std::size_t>(column) < rows.columns().size();
}

RowsModel::MaybeOrder RowsModel::Arrangement::of(const TableRows& rows) const {
  if (!sorts(rows) && !filter && !rows.groupedBy()) {
    return std::nullopt;
  }
  Order order;
  order.reserve(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!filter || filter(rows, row)) {
      order.push_back(static_cast<std::uint32_t>(row));
    }
  }
  const auto at = static_cast<std::size_t>(column);
  const bool up = direction == Qt::AscendingOrder;
  if (sorts(rows) && rows.columns()[at].byNumber) {
    sortByNumber(order, rows, at, up);
  } else if (sorts(rows)) {
    std::vector<std::optional<QString>> keys(rows.size());
    for (const std::uint32_t row : order) {
      keys[row] = rows.text(row, at);
    }
    sortBy(order, keys, up,
           [&](const QString& a, const QString& b) { return rows.before(a, b, at); });
  }
  // Groups come last, since sorting is stable: within each, rows keep the order from before.
  if (const auto group = rows.groupedBy(); group && !(sorts(rows) && *group == at)) {
    sortByNumber(order, rows, *group, true);
  }
  return order;
}

void RowsModel::setRows(std::shared_ptr<const TableRows> rows) {
  arrange(std::move(rows));
}

void RowsModel::setFilter(Filter filter) {
  wanted_.filter = std::move(filter);
  arrange(rows_);
}

void RowsModel::sort(int column, Qt::SortOrder direction) {
  if (sortedElsewhere_) {
    emit sortWanted(column, direction);
    return;
  }
  wanted_.column = column;
  wanted_.direction = direction;
  arrange(rows_);
}

// Shows these rows in the order that is wanted, at once where that takes no time.
void RowsModel::arrange(std::shared_ptr<const TableRows> rows) {
  // What an earlier arrangement was made for is not wanted any more.
  job_.drop();
  if (rows == nullptr) {
    take(nullptr, std::nullopt);
    return;
  }
  if (rows->size() <= kSortedAtOnce ||
      (!wanted_.sorts(*rows) && !wanted_.filter && !rows->groupedBy())) {
    MaybeOrder order = wanted_.of(*rows);
    take(std::move(rows), std::move(order));
    return;
  }
  if (rows != rows_) {
    // Until their order is known, what is new follows what is there.
    MaybeOrder order;
    if (order_ && rows_ != nullptr && rows->continues(*rows_) && rows->size() >= rows_->size()) {
      order = order_;
      for (std::size_t row = rows_->size(); row < rows->size(); ++row) {
        if (!wanted_.filter || wanted_.filter(*rows, row)) {
          order->push_back(static_cast<std::uint32_t>(row));
        }
      }
    }
    take(rows, std::move(order));
  }
  // `rows_` is `rows` when the job answers: any other arrangement would have dropped it.
  job_.start([rows, wanted = wanted_] { return wanted.of(*rows); },
             [this](MaybeOrder order) { take(rows_, std::move(order)); });
}

// Note [News of the same rows]
//
// A live table gets new rows many times a minute, and the reader's place, selection and current
// cell must not move. Qt keeps these as persistent indices, which a reset would throw away. So
// where the new rows continue the old ones (TableRows::continues), this is a change of layout: each
// persistent index is taken to its row in the old order (rowAt), to the row's place among the new
// (placeOf), and to that one's line in the new order (lineIn). Other rows are a reset.
//
// Long tables are handed out a page at a time while the user scrolls (`handedOut_`). What was
// handed out stays so over news, or the view would jump back to the first page.
void RowsModel::take(std::shared_ptr<const TableRows> rows, MaybeOrder order) {
  const bool same = rows != nullptr && rows_ != nullptr &&
                    rows->columns().size() == rows_->columns().size() &&
                    (rows == rows_ || rows->continues(*rows_));
  QModelIndexList kept;
  std::vector<std::optional<std::size_t>> places;
  if (same) {
    emit layoutAboutToBeChanged({}, VerticalSortHint);
    kept = persistentIndexList();
    for (const QModelIndex& index : kept) {
      const std::size_t row = rowAt(index.row());
      places.push_back(rows == rows_ ? std::optional(row) : rows->placeOf(*rows_, row));
    }
  } else {
    beginResetModel();
  }
  const bool news = rows != rows_;
  rows_ = std::move(rows);
  order_ = std::move(order);
  lineOf_.clear();
  handedOut_ = std::min(lines(), std::max(same ? handedOut_ : 0, static_cast<std::size_t>(page_)));
  if (same) {
    QModelIndexList moved;
    for (qsizetype i = 0; i < kept.size(); ++i) {
      const auto& place = places[static_cast<std::size_t>(i)];
      const auto line = place ? lineIn(*place) : std::nullopt;
      // A row that now stands beyond what was handed out is let go.
      moved << (line && *line < handedOut_ ? index(static_cast<int>(*line), kept[i].column())
                                           : QModelIndex());
    }
    changePersistentIndexList(kept, moved);
    emit layoutChanged({}, VerticalSortHint);
    // A change of layout says nothing of the cells: views would keep what they show of live rows.
    if (news && handedOut_ > 0) {
      emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    }
  } else {
    endResetModel();
  }
  emit arranged();
}

// How many lines there are, handed out or not.
std::size_t RowsModel::lines() const {
  return rows_ == nullptr ? 0 : order_ ? order_->size() : rows_->size();
}

std::size_t RowsModel::rowAt(int line) const {
  const auto at = static_cast<std::size_t>(line);
  return order_ ? (*order_)[at] : at;
}

std::optional<std::size_t> RowsModel::lineIn(std::size_t row) {
  if (!order_) {
    return row;
  }
  // Made when it is first asked for: most orders never are.
  if (lineOf_.empty()) {
    lineOf_.assign(rows_->size(), kNoLine);
    for (std::size_t line = 0; line < order_->size(); ++line) {
      lineOf_[(*order_)[line]] = static_cast<std::uint32_t>(line);
    }
  }
  return lineOf_[row] == kNoLine ? std::nullopt : std::optional<std::size_t>(lineOf_[row]);
}

int RowsModel::lineOf(std::size_t row) {
  const auto line = lineIn(row);
  if (!line) {
    return -1;
  }
  grow(*line + 1);
  return static_cast<int>(*line);
}

int RowsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(handedOut_);
}

int RowsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() || rows_ == nullptr ? 0 : static_cast<int>(rows_->columns().size());
}

QVariant RowsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) {
    return {};
  }
  const std::size_t row = rowAt(index.row());
  const auto column = static_cast<std::size_t>(index.column());
  const TableRows::Column& of = rows_->columns()[column];
  switch (role) {
    case Qt::DisplayRole:
      return rows_->text(row, column);
    case Qt::ToolTipRole:
      return rows_->tip(row, column);
    case Qt::TextAlignmentRole:
      return QVariant(of.across | Qt::AlignVCenter);
    case kSortRole: {
      if (!of.byNumber) {
        return rows_->text(row, column);
      }
      const auto key = keyOf(*rows_, row, column);
      return key ? QVariant(*key) : QVariant();
    }
    default:
      return rows_->look(row, column, role);
  }
}

QVariant RowsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) {
    return {};
  }
  const TableRows::Column& column = rows_->columns()[static_cast<std::size_t>(section)];
  return role == Qt::DisplayRole         ? QVariant(column.title)
         : role == Qt::ToolTipRole       ? QVariant(tipWithTerm(column.title, column.tip))
         : role == Qt::TextAlignmentRole ? QVariant(column.titleAcross | Qt::AlignVCenter)
                                         : QVariant();
}

bool RowsModel::canFetchMore(const QModelIndex& parent) const {
  return !parent.isValid() && handedOut_ < lines();
}

void RowsModel::fetchMore(const QModelIndex& parent) {
  if (canFetchMore(parent)) {
    grow(handedOut_ + static_cast<std::size_t>(page_));
  }
}

void RowsModel::grow(std::size_t wanted) {
  wanted = std::min(wanted, lines());
  if (wanted > handedOut_) {
    beginInsertRows({}, static_cast<int>(handedOut_), static_cast<int>(wanted) - 1);
    handedOut_ = wanted;
    endInsertRows();
  }
}

}  // namespace lockstep::ui
