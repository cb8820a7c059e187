#include "ui/views/compare/CompareModels.h"

#include <utility>

#include "ui/model/Format.h"
#include "ui/views/compare/MetricText.h"

namespace lockstep::ui {
namespace {

constexpr int kRightAlignment = Qt::AlignRight | Qt::AlignVCenter;
constexpr int kLeftAlignment = Qt::AlignLeft | Qt::AlignVCenter;

QString letter(std::size_t run) {
  return QString::fromStdString(analysis::letterOf(run));
}

QVariant numberOrNothing(const std::optional<double>& value) {
  return value ? QVariant(*value) : QVariant();
}

}  // namespace

void CompareModel::show(std::shared_ptr<const CompareResult> result, std::size_t other) {
  beginResetModel();
  result_ = std::move(result);
  other_ = other;
  endResetModel();
}

void CompareModel::setTheme(Theme theme) {
  theme_ = theme;
  if (rowCount() > 0) {
    emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
  }
}

int CompareModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || result_ == nullptr ? 0 : rows();
}

int KeysModel::rows() const {
  return static_cast<int>(result_->comparison.keys.size());
}

int KeysModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() || result_ == nullptr ? 0 : 1 + static_cast<int>(result_->runs.size());
}

QVariant KeysModel::data(const QModelIndex& index, int role) const {
  const analysis::DifferingKey& key = result_->comparison.keys[index.row()];
  switch (role) {
    case Qt::DisplayRole:
    case kSortRole:
      return index.column() == 0 ? labelOf(key) : keyValueText(key.values[index.column() - 1]);
    case Qt::ToolTipRole:
      if (index.column() == 0) {
        return QString::fromStdString(key.label);
      }
      return key.values[index.column() - 1]
                 ? QVariant()
                 : QVariant(tr("The experiment of this run has no such key."));
    default:
      return {};
  }
}

QVariant KeysModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || result_ == nullptr) {
    return {};
  }
  return section == 0 ? tr("Key") : letter(section - 1);
}

int MetricsModel::rows() const {
  return static_cast<int>(result_->comparison.metrics.size());
}

int MetricsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QString MetricsModel::text(const analysis::MetricRow& row, int column) const {
  const analysis::Delta& delta = row.deltas[other_ - 1];
  switch (column) {
    case kMetric:
      return nameOf(row.metric);
    case kA:
      return valueText(row.metric, row.values[0]);
    case kOther:
      return valueText(row.metric, row.values[other_]);
    case kDifference:
      return differenceText(row.metric, delta.difference);
    case kPercent:
      return percentText(delta.percent);
    case kInterval:
      return intervalText(row.metric, delta);
    default:
      return verdictText(delta);
  }
}

QVariant MetricsModel::figure(const analysis::MetricRow& row, int column) const {
  const analysis::Delta& delta = row.deltas[other_ - 1];
  switch (column) {
    case kMetric:
      return static_cast<int>(row.metric);
    case kA:
      return numberOrNothing(row.values[0]);
    case kOther:
      return numberOrNothing(row.values[other_]);
    case kDifference:
      return numberOrNothing(delta.difference);
    case kPercent:
      return numberOrNothing(delta.percent);
    case kInterval:
      return numberOrNothing(delta.low);
    default:
      return static_cast<int>(delta.verdict);
  }
}

QString MetricsModel::tip(const analysis::MetricRow& row) const {
  const auto& runs = result_->comparison.runs;
  return QStringLiteral("%1\n%2\nA: %3\n%4: %5")
      .arg(QString::fromStdString(analysis::facts(row.metric).meaning),
           QString::fromStdString(row.deltas[other_ - 1].reason),
           QString::fromStdString(runs[0].counts), letter(other_),
           QString::fromStdString(runs[other_].counts));
}

QVariant MetricsModel::data(const QModelIndex& index, int role) const {
  const analysis::MetricRow& row = result_->comparison.metrics[index.row()];
  const analysis::Verdict verdict = row.deltas[other_ - 1].verdict;
  const bool ofDelta = index.column() >= kDifference;
  switch (role) {
    case Qt::DisplayRole:
      return text(row, index.column());
    case kSortRole:
      return figure(row, index.column());
    case Qt::ToolTipRole:
      return tip(row);
    case Qt::TextAlignmentRole:
      return index.column() == kMetric || index.column() == kVerdict ? kLeftAlignment : kRightAlignment;
    case Qt::ForegroundRole:
      return ofDelta ? QVariant(verdictColour(verdict, Palette::of(theme_))) : QVariant();
    default:
      return {};
  }
}

QVariant MetricsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) {
    return {};
  }
  if (role == Qt::TextAlignmentRole) {
    return section == kMetric || section == kVerdict ? kLeftAlignment : kRightAlignment;
  }
  const QStringList names{tr("Metric"), tr("A"), letter(other_), tr("Δ"),
                          tr("Δ %"),    tr("99 %"), tr("Verdict")};
  const QStringList tips{tr("What is compared; means over ranks and iterations"),
                         tr("The run that is open"),
                         tr("The run that is set against it"),
                         tr("The difference, in the unit of the metric"),
                         tr("The difference in per cent of A"),
                         tr("Between what the difference lies: of the two runs, by their "
                            "iterations, or of their experiments, where both were repeated"),
                         tr("Better or worse takes repeats of both experiments: add them to the "
                            "comparison")};
  return role == Qt::DisplayRole   ? QVariant(names[section])
         : role == Qt::ToolTipRole ? QVariant(tips[section])
                                   : QVariant();
}

int WhyModel::rows() const {
  return static_cast<int>(result_->comparison.why[other_ - 1].reasons.size());
}

int WhyModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

const analysis::Reason* WhyModel::reason(int row) const {
  return row >= 0 && row < rowCount() ? &result_->comparison.why[other_ - 1].reasons[row] : nullptr;
}

QVariant WhyModel::data(const QModelIndex& index, int role) const {
  const analysis::Reason& about = *reason(index.row());
  switch (role) {
    case Qt::DisplayRole:
      return index.column() == kDelta ? deltaMsText(about.deltaMs)
                                      : QString::fromStdString(about.sentence);
    case kSortRole:
      return index.column() == kDelta ? QVariant(about.deltaMs)
                                      : QVariant(QString::fromStdString(about.sentence));
    case Qt::TextAlignmentRole:
      return index.column() == kDelta ? kRightAlignment : kLeftAlignment;
    case Qt::ForegroundRole:
      return index.column() == kDelta ? QVariant(about.deltaMs > 0 ? Palette::of(theme_).error
                                                                   : Palette::of(theme_).good)
                                      : QVariant();
    case Qt::ToolTipRole:
      return QString::fromStdString(about.sentence) +
             tr("\nMeans over the measured iterations and ranks, which add up to the difference "
                "of the step time.\nClick: show an iteration in which it is typical.");
    default:
      return {};
  }
}

QVariant WhyModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
    return {};
  }
  return section == kDelta ? tr("Δ a step") : tr("Because");
}

void PercentilesModel::setKind(trace::EventKind kind) {
  beginResetModel();
  kind_ = kind;
  endResetModel();
}

int PercentilesModel::rows() const {
  return static_cast<int>(result_->runs.size());
}

int PercentilesModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant PercentilesModel::data(const QModelIndex& index, int role) const {
  const std::size_t run = index.row();
  if (role == Qt::TextAlignmentRole) {
    return index.column() == kRun ? kLeftAlignment : kRightAlignment;
  }
  if (role != Qt::DisplayRole && role != kSortRole) {
    return {};
  }
  if (index.column() == kRun) {
    return titleOfRun(*result_, run);
  }
  const auto at = result_->distributions[run].find(kind_);
  if (at == result_->distributions[run].end()) {
    return role == kSortRole ? QVariant() : QVariant(QStringLiteral("\u2013"));
  }
  const analysis::Durations& durations = at->second;
  if (index.column() == kCount) {
    const auto count = static_cast<qulonglong>(durations.count());
    return role == kSortRole ? QVariant(count) : QVariant(formatCount(count));
  }
  const double ms = index.column() == kP50   ? durations.p50
                    : index.column() == kP90 ? durations.p90
                    : index.column() == kP99 ? durations.p99
                                             : durations.max;
  return role == kSortRole ? QVariant(ms) : QVariant(formatDuration(ms * 1e6));
}

QVariant PercentilesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
    return {};
  }
  const QStringList names{tr("Run"), tr("Count"), tr("P50"), tr("P90"), tr("P99"), tr("Longest")};
  return names[section];
}

}  // namespace lockstep::ui
