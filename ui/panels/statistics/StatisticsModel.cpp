#include "ui/panels/statistics/StatisticsModel.h"

#include <QCollator>
#include <array>

#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

struct ColumnWords {
  const char* title;
  const char* meaning;
};

constexpr std::array<ColumnWords, StatisticsModel::kColumnCount> kWords{{
    {"", ""},
    {QT_TRANSLATE_NOOP("StatisticsModel", "Count"),
     QT_TRANSLATE_NOOP("StatisticsModel", "Spans and instants")},
    {QT_TRANSLATE_NOOP("StatisticsModel", "Total"),
     QT_TRANSLATE_NOOP("StatisticsModel",
                       "Time spent in it, over all threads; a span within another of the same row "
                       "on the same thread is not counted again. Collectives and the "
                       "communication of a hook go on without a thread: each counts")},
    {QT_TRANSLATE_NOOP("StatisticsModel", "Share"),
     QT_TRANSLATE_NOOP("StatisticsModel",
                       "The total, less what lies outside the measured time, over the measured "
                       "time of all ranks. Rows lie within each other and threads work side by "
                       "side: shares need not add up to 100 %")},
    {QT_TRANSLATE_NOOP("StatisticsModel", "Self"),
     QT_TRANSLATE_NOOP("StatisticsModel",
                       "Time spent in it and in nothing that lies within it on the same thread")},
    {QT_TRANSLATE_NOOP("StatisticsModel", "Mean"),
     QT_TRANSLATE_NOOP("StatisticsModel", "Of the durations of its spans; instants have none")},
    {QT_TRANSLATE_NOOP("StatisticsModel", "Min"),
     QT_TRANSLATE_NOOP("StatisticsModel", "The shortest span")},
    {QT_TRANSLATE_NOOP("StatisticsModel", "P50"),
     QT_TRANSLATE_NOOP("StatisticsModel",
                       "The median, over every span; between two, interpolated as numpy does")},
    {QT_TRANSLATE_NOOP("StatisticsModel", "P90"),
     QT_TRANSLATE_NOOP(
         "StatisticsModel",
         "90 % of the spans take no longer; between two, interpolated as numpy does")},
    {QT_TRANSLATE_NOOP("StatisticsModel", "P99"),
     QT_TRANSLATE_NOOP(
         "StatisticsModel",
         "99 % of the spans take no longer; between two, interpolated as numpy does")},
    {QT_TRANSLATE_NOOP("StatisticsModel", "Max"),
     QT_TRANSLATE_NOOP("StatisticsModel", "The longest span")},
    {QT_TRANSLATE_NOOP("StatisticsModel", "Std"),
     QT_TRANSLATE_NOOP("StatisticsModel",
                       "Standard deviation of the durations, divided by their number")},
}};

double numberOf(const StatisticsRow& row, int column) {
  const analysis::SpanStatistics& of = row.of;
  switch (column) {
    case StatisticsModel::kCount:
      return static_cast<double>(of.count);
    case StatisticsModel::kTotal:
      return of.total;
    case StatisticsModel::kShare:
      return row.share;
    case StatisticsModel::kSelf:
      return of.self;
    case StatisticsModel::kMean:
      return of.mean;
    case StatisticsModel::kMin:
      return of.min;
    case StatisticsModel::kP50:
      return of.p50;
    case StatisticsModel::kP90:
      return of.p90;
    case StatisticsModel::kP99:
      return of.p99;
    case StatisticsModel::kMax:
      return of.max;
    case StatisticsModel::kDeviation:
      return of.deviation;
    default:
      return 0;
  }
}

// What only spans have.
bool isMeasure(int column) {
  return column > StatisticsModel::kCount;
}

}  // namespace

void StatisticsModel::setRows(GroupBy by, std::vector<StatisticsRow> rows) {
  beginResetModel();
  by_ = by;
  rows_ = std::move(rows);
  endResetModel();
  emit headerDataChanged(Qt::Horizontal, kGroup, kGroup);
}

int StatisticsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int StatisticsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QString StatisticsModel::textOf(const StatisticsRow& row, int column) const {
  if (column == kGroup) {
    return row.group.name;
  }
  if (isMeasure(column) && row.of.measured == 0) {
    return {};
  }
  const double number = numberOf(row, column);
  if (column == kCount) {
    return formatCount(row.of.count);
  }
  if (column == kShare) {
    return tr("%1 %").arg(number * 100, 0, 'f', number < 0.1 ? 2 : 1);
  }
  return formatDuration(number);
}

QVariant StatisticsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) {
    return {};
  }
  const StatisticsRow& row = rows_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return textOf(row, index.column());
    case Qt::ToolTipRole:
      return isMeasure(index.column()) && row.of.measured == 0 ? tr("Instants have no duration")
             : index.column() == kGroup                        ? QVariant(row.group.name)
                                                               : QVariant();
    case Qt::TextAlignmentRole:
      return static_cast<int>((index.column() == kGroup ? Qt::AlignLeft : Qt::AlignRight) |
                              Qt::AlignVCenter);
    case kSortRole:
      return index.column() == kGroup ? QVariant(row.group.name)
             : isMeasure(index.column()) && row.of.measured == 0
                 ? QVariant(-1.0)
                 : QVariant(numberOf(row, index.column()));
    default:
      return {};
  }
}

QVariant StatisticsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) {
    return {};
  }
  const ColumnWords& words = kWords[static_cast<std::size_t>(section)];
  switch (role) {
    case Qt::DisplayRole:
      return section == kGroup ? titleOf(by_) : tr(words.title);
    case Qt::ToolTipRole:
      return section == kGroup ? meaningOf(by_) : tr(words.meaning);
    case Qt::TextAlignmentRole:
      return static_cast<int>((section == kGroup ? Qt::AlignLeft : Qt::AlignRight) |
                              Qt::AlignVCenter);
    default:
      return {};
  }
}

bool StatisticsOrderProxy::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const QVariant a = left.data(StatisticsModel::kSortRole);
  const QVariant b = right.data(StatisticsModel::kSortRole);
  if (left.column() != StatisticsModel::kGroup) {
    return a.toDouble() < b.toDouble();
  }
  static const QCollator kCollator = [] {
    QCollator collator(QLocale(QLocale::English));
    collator.setNumericMode(true);
    collator.setCaseSensitivity(Qt::CaseInsensitive);
    return collator;
  }();
  return kCollator.compare(a.toString(), b.toString()) < 0;
}

}  // namespace lockstep::ui
