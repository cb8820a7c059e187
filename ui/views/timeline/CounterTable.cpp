#include "ui/views/timeline/CounterTable.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/model/Format.h"
#include "ui/views/timeline/CounterValues.h"

namespace lockstep::ui {
namespace {

TableRows::Column centred(const QString& title) {
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
    // Of all ranks the one with the largest value; a list of all would be read out to its end.
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
    : ColumnRows(QStringLiteral("–")), rows_(std::move(rows)) {
  const auto of = [this](auto figure) -> Number {
    return [this, figure](std::size_t row) {
      return rows_[row].summary.any() ? std::optional<double>(figure(rows_[row])) : std::nullopt;
    };
  };
  const auto value = [&](const QString& title, auto figure) {
    const Number number = of(figure);
    words(
        centred(title),
        [this, number](std::size_t row) {
          const auto known = number(row);
          return known ? counterText(rows_[row].facts.unit, *known) : QStringLiteral("–");
        },
        number);
  };
  const auto time = [&](const QString& title, double CounterRow::*ns) {
    figures(centred(title), of([ns](const CounterRow& row) { return row.*ns; }),
            [](double at) { return formatTime(at, 1e6); });
  };
  words({tr("Counter"), {}, false, false, Qt::AlignLeft, Qt::AlignHCenter},
        [this](std::size_t row) { return rows_[row].facts.title; });
  figures(
      centred(tr("Rank")), [this](std::size_t row) { return rows_[row].rank; },
      [](double rank) { return QString::number(rank); });
  value(tr("Minimum"), [](const CounterRow& row) { return row.summary.minimum; });
  value(tr("Mean"), [](const CounterRow& row) { return row.summary.mean(); });
  value(tr("Maximum"), [](const CounterRow& row) { return row.summary.maximum; });
  time(tr("Maximum at"), &CounterRow::peakNs);
  value(tr("Last"), [](const CounterRow& row) { return row.last; });
  time(tr("Last at"), &CounterRow::lastNs);
  figures(
      centred(tr("Values")),
      [this](std::size_t row) { return static_cast<double>(rows_[row].summary.count); }, inCount);
}

bool CounterTable::continues(const TableRows& before) const {
  const std::vector<CounterRow>& then = static_cast<const CounterTable&>(before).rows_;
  return std::equal(rows_.begin(), rows_.end(), then.begin(), then.end(),
                    [](const CounterRow& a, const CounterRow& b) {
                      return a.name == b.name && a.rank == b.rank;
                    });
}

std::optional<double> CounterTable::number(std::size_t row, std::size_t column) const {
  const auto figure = ColumnRows::number(row, column);
  return figure && std::isfinite(*figure) ? figure : std::nullopt;
}

}  // namespace lockstep::ui
