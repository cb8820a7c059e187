#include "ui/panels/LogModel.h"

namespace lockstep::ui {

void LogModel::clear() {
  beginResetModel();
  lines_.clear();
  endResetModel();
}

void LogModel::setTimes(Times times) {
  times_ = std::move(times);
  if (!lines_.empty()) {
    emit dataChanged(index(0), index(rowCount() - 1));
  }
}

// "  12.345 s  ", or nothing.
QString LogModel::timeOf(const Line& line) const {
  const std::optional<double> ns = times_ && line.ticks != 0 ? times_(line.ticks) : std::nullopt;
  return ns ? QStringLiteral("%1 s  ").arg(*ns / 1e9, 8, 'f', 3) : QString();
}

void LogModel::append(std::span<const trace::LogRow> rows) {
  if (rows.empty()) {
    return;
  }
  const int first = static_cast<int>(lines_.size());
  beginInsertRows({}, first, first + static_cast<int>(rows.size()) - 1);
  for (const trace::LogRow& row : rows) {
    lines_.push_back({row.rank, row.ticks, QString::fromStdString(row.text)});
  }
  endInsertRows();
}

int LogModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(lines_.size());
}

QVariant LogModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) {
    return {};
  }
  const Line& line = lines_.at(index.row());
  switch (role) {
    case Qt::DisplayRole:
      return timeOf(line) + (line.rank < 0 ? tr("run    ") : tr("rank %1").arg(line.rank, -2)) +
             "  " + line.text;
    case Qt::ToolTipRole: return line.text;
    case kRankRole: return line.rank;
    default: return {};
  }
}

void LogFilter::setRank(std::optional<int> rank) {
  rank_ = rank;
  invalidateFilter();
}

void LogFilter::setText(const QString& text) {
  text_ = text;
  invalidateFilter();
}

bool LogFilter::filterAcceptsRow(int row, const QModelIndex& /*parent*/) const {
  const QModelIndex index = sourceModel()->index(row, 0);
  if (rank_ && index.data(LogModel::kRankRole).toInt() != *rank_) {
    return false;
  }
  return text_.isEmpty() || index.data().toString().contains(text_, Qt::CaseInsensitive);
}

}  // namespace lockstep::ui
