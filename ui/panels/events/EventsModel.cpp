#include "ui/panels/events/EventsModel.h"

#include <algorithm>

namespace lockstep::ui {

void EventsModel::setRows(const RunModel* model, std::shared_ptr<const EventRows> rows) {
  beginResetModel();
  model_ = model;
  rows_ = std::move(rows);
  terms_ = model_ != nullptr ? EventTerms(*model_) : EventTerms();
  page_ = std::min(page_, pages() - 1);
  starts_ = StepStarts();
  lastRow_ = -1;
  endResetModel();
}

std::size_t EventsModel::pages() const {
  return std::max<std::size_t>(1, (total() + kPageRows - 1) / kPageRows);
}

void EventsModel::setPage(std::size_t page) {
  if (page >= pages() || page == page_) {
    return;
  }
  beginResetModel();
  page_ = page;
  lastRow_ = -1;
  endResetModel();
}

std::optional<Span> EventsModel::spanAt(int row) const {
  if (model_ == nullptr || row < 0 || row >= rowCount()) {
    return std::nullopt;
  }
  if (row != lastRow_) {
    last_ = rows_->slices.spanAt(*model_,
                                 rows_->numbers[page_ * kPageRows + static_cast<std::size_t>(row)]);
    lastRow_ = row;
  }
  return last_;
}

std::optional<std::size_t> EventsModel::placeOf(const Span& span) const {
  if (model_ == nullptr || !rows_) {
    return std::nullopt;
  }
  const auto number = rows_->slices.numberOf(*model_, span);
  if (!number) {
    return std::nullopt;
  }
  const auto at = std::find(rows_->numbers.begin(), rows_->numbers.end(), *number);
  return at == rows_->numbers.end()
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(at - rows_->numbers.begin()));
}

int EventsModel::rowCount(const QModelIndex& parent) const {
  if (parent.isValid()) {
    return 0;
  }
  return static_cast<int>(std::min<std::size_t>(kPageRows, total() - page_ * kPageRows));
}

int EventsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kEventColumns;
}

QVariant EventsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) {
    return {};
  }
  const auto column = static_cast<EventColumn>(index.column());
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>((isText(column) ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole && !(role == Qt::ToolTipRole && column == EventColumn::kName)) {
    return {};
  }
  const auto span = spanAt(index.row());
  return span ? textOf(column, terms_, *span, starts_.of(*model_, *span)) : QVariant();
}

QVariant EventsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kEventColumns) {
    return {};
  }
  const auto column = static_cast<EventColumn>(section);
  switch (role) {
    case Qt::DisplayRole:
      return titleOf(column);
    case Qt::ToolTipRole:
      return meaningOf(column);
    case Qt::TextAlignmentRole:
      return static_cast<int>((isText(column) ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    default:
      return {};
  }
}

void EventsModel::sort(int column, Qt::SortOrder order) {
  if (column >= 0 && column < kEventColumns) {
    emit sortWanted(static_cast<EventColumn>(column), order == Qt::DescendingOrder);
  }
}

}  // namespace lockstep::ui
