#include "ui/views/timeline/CounterTable.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/model/Format.h"
#include "ui/views/timeline/CounterValues.h"

namespace lockstep::ui {
namespace {

constexpr double kTimeStepNs = 1e6;

std::optional<double> figureOf(const CounterRow& row, std::size_t column) {
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

TableRows::Column figures(const QString& title) {
  return {title, {}, true, true, Qt::AlignRight, Qt::AlignHCenter};
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

CounterTable::CounterTable(std::vector<CounterRow> rows)
    : TableRows({{tr("Counter"), {}, false, false, Qt::AlignLeft, Qt::AlignHCenter},
                 figures(tr("Rank")),
                 figures(tr("Minimum")),
                 figures(tr("Mean")),
                 figures(tr("Maximum")),
                 figures(tr("Maximum at")),
                 figures(tr("Last")),
                 figures(tr("Last at")),
                 figures(tr("Values"))}),
      rows_(std::move(rows)) {}

bool CounterTable::continues(const TableRows& before) const {
  const std::vector<CounterRow>& then = static_cast<const CounterTable&>(before).rows_;
  return std::equal(rows_.begin(), rows_.end(), then.begin(), then.end(),
                    [](const CounterRow& a, const CounterRow& b) {
                      return a.name == b.name && a.rank == b.rank;
                    });
}

QString CounterTable::text(std::size_t at, std::size_t column) const {
  const CounterRow& row = rows_[at];
  if (column == kCounter) {
    return row.facts.title;
  }
  const auto figure = figureOf(row, column);
  if (!figure) {
    return QStringLiteral("–");
  }
  switch (column) {
    case kRank:
      return QString::number(row.rank);
    case kValues:
      return formatCount(row.summary.count);
    case kMaximumAt:
    case kLastAt:
      return formatTime(*figure, kTimeStepNs);
    default:
      return counterText(row.facts.unit, *figure);
  }
}

std::optional<double> CounterTable::number(std::size_t row, std::size_t column) const {
  const auto figure = figureOf(rows_[row], column);
  return figure && std::isfinite(*figure) ? figure : std::nullopt;
}

}  // namespace lockstep::ui
