#include "ui/views/timeline/CounterTable.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/base/Check.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/CounterValues.h"

namespace lockstep::ui {
namespace {

constexpr double kTimeStepNs = 1e6;

std::optional<double> figureOf(const CounterRow& row, int column) {
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

// What a column is sorted by; what has no number there comes last.
std::optional<double> keyOf(const CounterRow& row, int column) {
  const auto figure = figureOf(row, column);
  return figure && std::isfinite(*figure) ? figure : std::nullopt;
}

QString textOf(const CounterRow& row, int column) {
  if (column == CounterTable::kCounter) {
    return row.facts.title;
  }
  const auto figure = figureOf(row, column);
  if (!figure) {
    return QStringLiteral("–");
  }
  switch (column) {
    case CounterTable::kRank:
      return QString::number(row.rank);
    case CounterTable::kValues:
      return formatCount(row.summary.count);
    case CounterTable::kMaximumAt:
    case CounterTable::kLastAt:
      return formatTime(*figure, kTimeStepNs);
    default:
      return counterText(row.facts.unit, *figure);
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
      CounterRow row{name, rank, counterFacts(name), {}, 0, 0, 0};
      const CounterValues values =
          within ? counterValuesIn(*series, row.facts.overInterval, model.toTicks(within->startNs),
                                   model.toTicks(within->endNs))
                 : CounterValues{0, series->size()};
      row.summary = series->summary(values.first, values.last);
      // A value that counts within may have been taken before, or at the end of its interval.
      const auto timeOf = [&](std::size_t index) {
        const double ns = model.toNs(series->points()[index].ticks);
        return within ? std::clamp(ns, within->startNs, within->endNs) : ns;
      };
      if (const auto peak = series->peak(values.first, values.last)) {
        row.peakNs = timeOf(*peak);
        row.last = series->points()[values.last - 1].value;
        row.lastNs = timeOf(values.last - 1);
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
  const bool alike =
      !rows.empty() && std::equal(rows.begin(), rows.end(), rows_.begin(), rows_.end(),
                                  [](const CounterRow& a, const CounterRow& b) {
                                    return a.name == b.name && a.rank == b.rank;
                                  });
  // A live run's rows get new figures: selection and scrolling stay.
  if (alike) {
    rows_ = std::move(rows);
    reorder();
    emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
    return;
  }
  beginResetModel();
  rows_ = std::move(rows);
  order_ = ordered();
  endResetModel();
}

const CounterRow& CounterTable::row(int line) const {
  LOCKSTEP_CHECK(line >= 0 && line < rowCount(), "row {} of {}", line, rowCount());
  return rows_[order_[static_cast<std::size_t>(line)]];
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
  const CounterRow& row = this->row(index.row());
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
  reorder();
}

// Brings the rows into their order; what is selected goes along with its row.
void CounterTable::reorder() {
  std::vector<std::size_t> wanted = ordered();
  if (wanted == order_) {
    return;
  }
  emit layoutAboutToBeChanged({}, VerticalSortHint);
  std::vector<int> lines(wanted.size());
  for (std::size_t line = 0; line < wanted.size(); ++line) {
    lines[wanted[line]] = static_cast<int>(line);
  }
  const QModelIndexList before = persistentIndexList();
  QModelIndexList after;
  for (const QModelIndex& kept : before) {
    const std::size_t row = order_[static_cast<std::size_t>(kept.row())];
    after << index(lines[row], kept.column());
  }
  order_ = std::move(wanted);
  changePersistentIndexList(before, after);
  emit layoutChanged({}, VerticalSortHint);
}

std::vector<std::size_t> CounterTable::ordered() const {
  std::vector<std::size_t> order(rows_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (sortColumn_ < 0) {
    return order;
  }
  const bool up = sortOrder_ == Qt::AscendingOrder;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (sortColumn_ == kCounter) {
      const int way = rows_[a].facts.title.compare(rows_[b].facts.title);
      return up ? way < 0 : way > 0;
    }
    const auto left = keyOf(rows_[a], sortColumn_);
    const auto right = keyOf(rows_[b], sortColumn_);
    if (!left || !right) {
      return left.has_value() && !right.has_value();
    }
    return up ? *left < *right : *right < *left;
  });
  return order;
}

}  // namespace lockstep::ui
