#include "ui/views/timeline/CounterTable.h"

#include <algorithm>
#include <utility>

#include "engine/base/Check.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

constexpr double kTimeStepNs = 1e6;

// What a column is sorted by; what has no value there comes last.
std::optional<double> keyOf(const CounterRow& row, int column) {
  if (column == CounterTable::kRank) {
    return row.rank;
  }
  if (column == CounterTable::kValues) {
    return static_cast<double>(row.summary.count);
  }
  if (!row.summary.any()) {
    return std::nullopt;
  }
  switch (column) {
    case CounterTable::kMinimum:
      return row.summary.minimum;
    case CounterTable::kMean:
      return row.summary.mean();
    case CounterTable::kMaximum:
      return row.summary.maximum;
    case CounterTable::kMaximumAt:
      return row.peakNs;
    case CounterTable::kLast:
      return row.last;
    case CounterTable::kLastAt:
      return row.lastNs;
    default:
      return std::nullopt;
  }
}

QString textOf(const CounterRow& row, int column) {
  if (column == CounterTable::kCounter) {
    return row.facts.title;
  }
  const auto key = keyOf(row, column);
  if (!key) {
    return QStringLiteral("–");
  }
  switch (column) {
    case CounterTable::kRank:
      return QString::number(row.rank);
    case CounterTable::kValues:
      return formatCount(row.summary.count);
    case CounterTable::kMaximumAt:
    case CounterTable::kLastAt:
      return formatTime(*key, kTimeStepNs);
    default:
      return counterText(row.facts.unit, *key);
  }
}

}  // namespace

std::vector<CounterRow> counterRows(const RunModel& model, const QStringList& names,
                                    const std::optional<TimeRange>& within) {
  std::vector<CounterRow> rows;
  for (const QString& key : names) {
    const std::string name = key.toStdString();
    for (int rank = 0; rank < model.rankCount(); ++rank) {
      const CounterSeries* series = model.counters().find(name, rank);
      if (series == nullptr) {
        continue;
      }
      std::size_t first = 0;
      std::size_t last = series->size();
      if (within) {
        first = series->firstAfter(model.toTicks(within->startNs));
        last = std::max(first, series->firstAfter(model.toTicks(within->endNs)));
      }
      CounterRow row{name, rank, counterFacts(name), series->summary(first, last), 0, 0, 0};
      if (const auto peak = series->peak(first, last)) {
        row.peakNs = model.toNs(series->points()[*peak].ticks);
        row.last = series->points()[last - 1].value;
        row.lastNs = model.toNs(series->points()[last - 1].ticks);
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

QString describeCounters(const RunModel& model, const QStringList& names) {
  QStringList parts;
  for (const QString& name : names) {
    const std::vector<CounterRow> rows = counterRows(model, {name}, std::nullopt);
    const CounterRow* highest = nullptr;
    for (const CounterRow& row : rows) {
      if (row.summary.any() &&
          (highest == nullptr || row.summary.maximum > highest->summary.maximum)) {
        highest = &row;
      }
    }
    if (highest != nullptr) {
      parts << CounterTable::tr("%1: at most %2, on rank %3.")
                   .arg(highest->facts.title,
                        counterText(highest->facts.unit, highest->summary.maximum))
                   .arg(highest->rank);
    }
  }
  return parts.join(QLatin1Char(' '));
}

void CounterTable::setRows(std::vector<CounterRow> rows) {
  // A live run's rows get new figures: selection and scrolling stay.
  if (rows.size() == rows_.size() && !rows.empty()) {
    rows_ = std::move(rows);
    order();
    emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
    return;
  }
  beginResetModel();
  rows_ = std::move(rows);
  order();
  endResetModel();
}

const CounterRow& CounterTable::row(int index) const {
  LOCKSTEP_CHECK(index >= 0 && index < rowCount(), "row {} of {}", index, rowCount());
  return rows_[static_cast<std::size_t>(index)];
}

int CounterTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int CounterTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant CounterTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) {
    return {};
  }
  const CounterRow& row = rows_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return textOf(row, index.column());
    case Qt::ToolTipRole:
      return row.facts.meaning;
    case Qt::TextAlignmentRole:
      return static_cast<int>((index.column() == kCounter ? Qt::AlignLeft : Qt::AlignRight) |
                              Qt::AlignVCenter);
    default:
      return {};
  }
}

QVariant CounterTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kCounter:
      return tr("Counter");
    case kRank:
      return tr("Rank");
    case kMinimum:
      return tr("Minimum");
    case kMean:
      return tr("Mean");
    case kMaximum:
      return tr("Maximum");
    case kMaximumAt:
      return tr("Maximum at");
    case kLast:
      return tr("Last");
    case kLastAt:
      return tr("Last at");
    case kValues:
      return tr("Values");
    default:
      return {};
  }
}

void CounterTable::sort(int column, Qt::SortOrder order) {
  sortColumn_ = column;
  sortOrder_ = order;
  emit layoutAboutToBeChanged({}, VerticalSortHint);
  this->order();
  emit layoutChanged({}, VerticalSortHint);
}

void CounterTable::order() {
  if (sortColumn_ < 0) {
    return;
  }
  const bool up = sortOrder_ == Qt::AscendingOrder;
  std::stable_sort(rows_.begin(), rows_.end(), [&](const CounterRow& a, const CounterRow& b) {
    if (sortColumn_ == kCounter) {
      const int way = a.facts.title.compare(b.facts.title);
      return up ? way < 0 : way > 0;
    }
    const auto left = keyOf(a, sortColumn_);
    const auto right = keyOf(b, sortColumn_);
    if (!left || !right) {
      return left.has_value() && !right.has_value();
    }
    return up ? *left < *right : *right < *left;
  });
}

}  // namespace lockstep::ui
