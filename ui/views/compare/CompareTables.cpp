#include "ui/views/compare/CompareTables.h"

#include <functional>
#include <utility>

#include "ui/model/Format.h"
#include "ui/views/compare/MetricText.h"

namespace lockstep::ui {

// --- keys ---

KeyRows::KeyRows(Compared shown) : CompareRows(std::move(shown)) {
  if (!any()) {
    return;
  }
  words({tr("Key")}, [this](std::size_t row) { return labelOf(result().comparison.keys[row]); });
  for (std::size_t run = 0; run < result().runs.size(); ++run) {
    words({letterOf(run)}, [this, run](std::size_t row) {
      return keyValueText(result().comparison.keys[row].values[run]);
    });
  }
}

QString KeyRows::tip(std::size_t row, std::size_t column) const {
  const analysis::DifferingKey& key = result().comparison.keys[row];
  return column == 0 ? labelOf(key) + QLatin1Char('\n') + QString::fromStdString(key.label)
         : key.values[column - 1] ? QString()
                                  : tr("The experiment of this run has no such key.");
}

// --- figures ---

MetricRows::MetricRows(Compared shown) : CompareRows(std::move(shown)) {
  // A column of a figure that is written as its metric is.
  const auto add = [this](const QString& title, const QString& tip, Number number, auto write) {
    words(
        {title, tip, true},
        [this, number, write](std::size_t row) { return write(of(row).metric, number(row)); },
        number);
  };
  const auto value = [this](std::size_t run) -> Number {
    return [this, run](std::size_t row) { return of(row).values[run]; };
  };
  const auto ofDelta = [this](auto figure) -> Number {
    return [this, figure](std::size_t row) { return delta(row).*figure; };
  };
  words(
      {tr("Metric"), tr("What is compared; means over ranks and iterations")},
      [this](std::size_t row) { return nameOf(of(row).metric); },
      [this](std::size_t row) { return static_cast<double>(of(row).metric); });
  add(tr("A"), tr("The run that is open"), value(0), valueText);
  add(letterOf(shown_.other), tr("The run that is set against it"), value(shown_.other), valueText);
  add(tr("Δ"), tr("The difference, in the unit of the metric"),
      ofDelta(&analysis::Delta::difference), differenceText);
  words(
      {tr("Δ %"), tr("The difference in per cent of A"), true},
      [this](std::size_t row) { return changeText(delta(row).percent); },
      ofDelta(&analysis::Delta::percent));
  words(
      {tr("Verdict"),
       tr("\u201cSo far\u201d is no verdict on what was changed: that takes two runs or "
          "more of each experiment; add them to the comparison")},
      [this](std::size_t row) { return verdictText(of(row).metric, delta(row)); },
      [this](std::size_t row) { return static_cast<double>(delta(row).verdict); });
  words(
      {tr("99 % interval of Δ"),
       tr("Between what the difference lies in 99 of 100 cases: of the two runs, by their "
          "iterations, or of their "
          "experiments, where both were repeated"),
       true},
      [this](std::size_t row) { return intervalText(of(row).metric, delta(row)); },
      ofDelta(&analysis::Delta::low));
}

QString MetricRows::tip(std::size_t row, std::size_t) const {
  const auto& runs = result().comparison.runs;
  return QStringLiteral("%1\n%2\n%3\nA: %4\n%5: %6")
      .arg(nameOf(of(row).metric), QString::fromStdString(analysis::facts(of(row).metric).meaning),
           QString::fromStdString(delta(row).reason), QString::fromStdString(runs[0].counts),
           letterOf(shown_.other), QString::fromStdString(runs[shown_.other].counts));
}

QVariant MetricRows::look(std::size_t row, std::size_t column, int role) const {
  return role == Qt::ForegroundRole && column >= kDifference
             ? QVariant(verdictColour(of(row).metric, delta(row), Palette::of(shown_.theme)))
             : QVariant();
}

// --- reasons ---

WhyRows::WhyRows(Compared shown) : CompareRows(std::move(shown)) {
  figures(
      {tr("Δ a step"), {}, true, true, Qt::AlignRight, Qt::AlignLeft},
      [this](std::size_t row) { return reason(row).deltaMs; }, deltaMsText);
  words({tr("Because")},
        [this](std::size_t row) { return QString::fromStdString(reason(row).sentence); });
}

QString WhyRows::tip(std::size_t row, std::size_t) const {
  return QString::fromStdString(reason(row).sentence) +
         tr("\nMeans over the measured iterations and ranks, which add up to the difference "
            "of the step time.\nClick: show an iteration in which it is typical.");
}

QVariant WhyRows::look(std::size_t row, std::size_t column, int role) const {
  const Palette& palette = Palette::of(shown_.theme);
  return role == Qt::ForegroundRole && column == kDelta
             ? QVariant(reason(row).deltaMs > 0 ? palette.error : palette.good)
             : QVariant();
}

// --- percentiles ---

// Of all runs, not of A and the chosen one alone.
PercentileRows::PercentileRows(std::shared_ptr<const CompareResult> result, trace::EventKind kind)
    : CompareRows({std::move(result)}, QStringLiteral("\u2013")) {
  const auto add = [&](const QString& title, auto figure, auto write) {
    figures(
        {title, {}, true, true, Qt::AlignRight, Qt::AlignLeft},
        [this, kind, figure](std::size_t row) {
          const Distributions& run = this->result().distributions[row];
          const auto at = run.find(kind);
          return at == run.end()
                     ? std::nullopt
                     : std::optional(static_cast<double>(std::invoke(figure, at->second)));
        },
        write);
  };
  using analysis::Durations;
  words({tr("Run")}, [this](std::size_t row) { return titleOfRun(this->result(), row); });
  add(tr("Count"), &Durations::count, inCount);
  add(tr("P50"), &Durations::p50, formatMs);
  add(tr("P90"), &Durations::p90, formatMs);
  add(tr("P99"), &Durations::p99, formatMs);
  add(tr("Longest"), &Durations::max, formatMs);
}

}  // namespace lockstep::ui
