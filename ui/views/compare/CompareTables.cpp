#include "ui/views/compare/CompareTables.h"

#include <utility>
#include <vector>

#include "ui/model/Format.h"
#include "ui/views/compare/MetricText.h"

namespace lockstep::ui {
namespace {

QString letter(std::size_t run) {
  return QString::fromStdString(analysis::letterOf(run));
}

TableRows::Column percentile(const QString& title) {
  return {title, {}, true, true, Qt::AlignRight, Qt::AlignLeft};
}

}  // namespace

// --- keys ---

KeyRows::KeyRows(Compared shown) : CompareRows(std::move(shown), {}) {
  if (any()) {
    columns_.push_back({tr("Key")});
    for (std::size_t run = 0; run < result().runs.size(); ++run) {
      columns_.push_back({letter(run)});
    }
  }
}

std::size_t KeyRows::size() const {
  return any() ? result().comparison.keys.size() : 0;
}

QString KeyRows::text(std::size_t row, std::size_t column) const {
  const analysis::DifferingKey& key = result().comparison.keys[row];
  return column == 0 ? labelOf(key) : keyValueText(key.values[column - 1]);
}

QString KeyRows::tip(std::size_t row, std::size_t column) const {
  const analysis::DifferingKey& key = result().comparison.keys[row];
  return column == 0              ? QString::fromStdString(key.label)
         : key.values[column - 1] ? QString()
                                  : tr("The experiment of this run has no such key.");
}

// --- figures ---

MetricRows::MetricRows(Compared shown)
    : CompareRows(
          std::move(shown),
          {{tr("Metric"), tr("What is compared; means over ranks and iterations"), false, true},
           {tr("A"), tr("The run that is open"), true},
           {{}, tr("The run that is set against it"), true},
           {tr("Δ"), tr("The difference, in the unit of the metric"), true},
           {tr("Δ %"), tr("The difference in per cent of A"), true},
           {tr("99 %"),
            tr("Between what the difference lies: of the two runs, by their iterations, or of "
               "their experiments, where both were repeated"),
            true},
           {tr("Verdict"),
            tr("Better or worse takes repeats of both experiments: add them to the comparison"),
            false, true}}) {
  columns_[kOther].title = letter(shown_.other);
}

std::size_t MetricRows::size() const {
  return any() ? result().comparison.metrics.size() : 0;
}

const analysis::MetricRow& MetricRows::of(std::size_t row) const {
  return result().comparison.metrics[row];
}

const analysis::Delta& MetricRows::delta(std::size_t row) const {
  // A has no delta, so those of the others are one to the left.
  return of(row).deltas[shown_.other - 1];
}

QString MetricRows::text(std::size_t row, std::size_t column) const {
  const analysis::MetricRow& figures = of(row);
  switch (column) {
    case kMetric:
      return nameOf(figures.metric);
    case kA:
      return valueText(figures.metric, figures.values[0]);
    case kOther:
      return valueText(figures.metric, figures.values[shown_.other]);
    case kDifference:
      return differenceText(figures.metric, delta(row).difference);
    case kPercent:
      return changeText(delta(row).percent);
    case kInterval:
      return intervalText(figures.metric, delta(row));
    default:
      return verdictText(delta(row));
  }
}

std::optional<double> MetricRows::number(std::size_t row, std::size_t column) const {
  switch (column) {
    case kMetric:
      return static_cast<double>(of(row).metric);
    case kA:
      return of(row).values[0];
    case kOther:
      return of(row).values[shown_.other];
    case kDifference:
      return delta(row).difference;
    case kPercent:
      return delta(row).percent;
    case kInterval:
      return delta(row).low;
    default:
      return static_cast<double>(delta(row).verdict);
  }
}

QString MetricRows::tip(std::size_t row, std::size_t) const {
  const auto& runs = result().comparison.runs;
  return QStringLiteral("%1\n%2\nA: %3\n%4: %5")
      .arg(QString::fromStdString(analysis::facts(of(row).metric).meaning),
           QString::fromStdString(delta(row).reason), QString::fromStdString(runs[0].counts),
           letter(shown_.other), QString::fromStdString(runs[shown_.other].counts));
}

QVariant MetricRows::look(std::size_t row, std::size_t column, int role) const {
  return role == Qt::ForegroundRole && column >= kDifference
             ? QVariant(verdictColour(delta(row).verdict, Palette::of(shown_.theme)))
             : QVariant();
}

// --- reasons ---

WhyRows::WhyRows(Compared shown)
    : CompareRows(
          std::move(shown),
          {{tr("Δ a step"), {}, true, true, Qt::AlignRight, Qt::AlignLeft}, {tr("Because")}}) {}

std::size_t WhyRows::size() const {
  return any() ? result().comparison.why[shown_.other - 1].reasons.size() : 0;
}

const analysis::Reason& WhyRows::reason(std::size_t row) const {
  return result().comparison.why[shown_.other - 1].reasons[row];
}

QString WhyRows::text(std::size_t row, std::size_t column) const {
  return column == kDelta ? deltaMsText(reason(row).deltaMs)
                          : QString::fromStdString(reason(row).sentence);
}

std::optional<double> WhyRows::number(std::size_t row, std::size_t) const {
  return reason(row).deltaMs;
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
    : CompareRows({std::move(result)}, {{tr("Run")},
                                        percentile(tr("Count")),
                                        percentile(tr("P50")),
                                        percentile(tr("P90")),
                                        percentile(tr("P99")),
                                        percentile(tr("Longest"))}),
      kind_(kind) {}

std::size_t PercentileRows::size() const {
  return any() ? result().runs.size() : 0;
}

QString PercentileRows::text(std::size_t row, std::size_t column) const {
  if (column == kRun) {
    return titleOfRun(result(), row);
  }
  const auto figure = number(row, column);
  return !figure            ? QStringLiteral("\u2013")
         : column == kCount ? formatCount(static_cast<std::uint64_t>(*figure))
                            : formatMs(*figure);
}

std::optional<double> PercentileRows::number(std::size_t row, std::size_t column) const {
  // A run that has no such span: unknown.
  const auto at = result().distributions[row].find(kind_);
  if (at == result().distributions[row].end()) {
    return std::nullopt;
  }
  const analysis::Durations& durations = at->second;
  switch (column) {
    case kCount:
      return static_cast<double>(durations.count());
    case kP50:
      return durations.p50;
    case kP90:
      return durations.p90;
    case kP99:
      return durations.p99;
    default:
      return durations.max;
  }
}

}  // namespace lockstep::ui
