#include "ui/views/hooks/HooksTable.h"

#include <algorithm>
#include <array>

#include "ui/views/hooks/HookCharts.h"
#include "ui/views/hooks/HookWords.h"

namespace lockstep::ui {
namespace {

using namespace hook_words;
using analysis::HookPhase;

std::vector<HookPick> picksOf(const analysis::HookBucket& bucket) {
  std::vector<HookPick> picks{{bucket.bucket, std::nullopt}};
  for (int i = 0; i < analysis::kHookPhases; ++i) {
    const auto phase = static_cast<HookPhase>(i);
    if (!bucket.lacks(phase)) {
      picks.push_back({bucket.bucket, phase});
    }
  }
  return picks;
}

}  // namespace

void HooksTable::setContent(std::shared_ptr<const HooksContent> content) {
  std::vector<Row> rows;
  if (content != nullptr) {
    for (std::size_t side = 0; side < content->sides.size(); ++side) {
      for (const analysis::HookBucket& bucket : content->sides[side].buckets) {
        for (const HookPick& pick : picksOf(bucket)) {
          rows.push_back({side, pick});
        }
      }
    }
  }
  const auto alike = [](const Row& a, const Row& b) {
    return a.side == b.side && a.pick == b.pick;
  };
  if (std::equal(rows.begin(), rows.end(), rows_.begin(), rows_.end(), alike)) {
    content_ = std::move(content);  // of a live run: the numbers move, the selection stays
    if (!rows_.empty()) {
      emit dataChanged(index(0, 0), index(rowCount() - 1, kColumnCount - 1));
    }
    return;
  }
  beginResetModel();
  content_ = std::move(content);
  rows_ = std::move(rows);
  endResetModel();
}

int HooksTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int HooksTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

const HookPick& HooksTable::pickOf(int row) const {
  return rows_.at(static_cast<std::size_t>(row)).pick;
}

int HooksTable::rowOf(const HookPick& pick) const {
  const auto at =
      std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.pick == pick; });
  return at == rows_.end() ? -1 : static_cast<int>(at - rows_.begin());
}

QVariant HooksTable::number(const Row& row, int column) const {
  const HookSide& side = content_->sides[row.side];
  const analysis::HookBucket* bucket = side.find(row.pick.bucket);
  const analysis::Durations* durations = side.durations(row.pick);
  const bool whole = !row.pick.phase.has_value();
  switch (column) {
    case kRun:
      return static_cast<int>(row.side);
    case kBucket:
      return static_cast<int>(row.pick.bucket);
    case kPhase:
      return whole ? -1 : static_cast<int>(*row.pick.phase);
    case kCount:
      return static_cast<qulonglong>(durations->count());
    case kMean:
      return durations->mean;
    case kP50:
      return durations->p50;
    case kP90:
      return durations->p90;
    case kP99:
      return durations->p99;
    case kMax:
      return durations->max;
    case kShare:
      return 100 *
             (whole ? bucket->share : bucket->shares[static_cast<std::size_t>(*row.pick.phase)]);
    case kBefore:
      return whole && bucket->gradientBytes
                 ? QVariant(static_cast<qulonglong>(*bucket->gradientBytes))
                 : QVariant();
    case kAfter:
      return whole ? QVariant(bucket->payloadBytes) : QVariant();
    case kRatio:
      return whole && bucket->ratio() ? QVariant(*bucket->ratio()) : QVariant();
    default:
      return {};
  }
}

QString HooksTable::text(const Row& row, int column) const {
  const QVariant value = number(row, column);
  switch (column) {
    case kRun:
      return content_->compares()
                 ? sideName(row.side) + QStringLiteral("  ") + content_->sides[row.side].run->hook
                 : content_->sides[row.side].run->hook;
    case kBucket:
      return bucketTitle(row.pick.bucket);
    case kPhase:
      return phaseTitle(row.pick.phase);
    case kCount:
      return formatCount(value.toULongLong());
    case kShare:
      return QString::number(value.toDouble(), 'f', 1) + QStringLiteral(" %");
    case kBefore:
    case kAfter:
      return value.isValid() ? formatBytes(value.toDouble()) : QString();
    case kRatio:
      return value.isValid() ? ratioText(value.toDouble()) : QString();
    default:
      return formatDuration(value.toDouble() * kNsPerMs);
  }
}

QVariant HooksTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || content_ == nullptr) {
    return {};
  }
  const Row& row = rows_.at(static_cast<std::size_t>(index.row()));
  switch (role) {
    case Qt::DisplayRole:
      return text(row, index.column());
    case Qt::EditRole:
      return number(row, index.column());
    case Qt::TextAlignmentRole:
      return index.column() >= kCount ? QVariant(Qt::AlignRight | Qt::AlignVCenter) : QVariant();
    case Qt::ToolTipRole:
      return row.pick.phase ? phaseMeaning(*row.pick.phase)
                            : tr("The whole call, from its first phase to its last.");
    default:
      return {};
  }
}

QVariant HooksTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) {
    return {};
  }
  struct Head {
    const char* title;
    const char* tip;
  };
  static const std::array<Head, kColumnCount> kHeads{{
      {QT_TR_NOOP("Hook"), QT_TR_NOOP("Which run")},
      {QT_TR_NOOP("Bucket"), QT_TR_NOOP("By the layout after the warm-up")},
      {QT_TR_NOOP("Phase"), QT_TR_NOOP("Every moment of a call belongs to one phase")},
      {QT_TR_NOOP("Count"), QT_TR_NOOP("Calls in the measured steps")},
      {QT_TR_NOOP("Mean"), QT_TR_NOOP("Of a call")},
      {QT_TR_NOOP("P50"), QT_TR_NOOP("Half of the calls are shorter")},
      {QT_TR_NOOP("P90"), QT_TR_NOOP("90 % of the calls are shorter")},
      {QT_TR_NOOP("P99"), QT_TR_NOOP("99 % of the calls are shorter")},
      {QT_TR_NOOP("Max"), QT_TR_NOOP("The longest call")},
      {QT_TR_NOOP("Share"), QT_TR_NOOP("Of the time of all calls of the hook")},
      {QT_TR_NOOP("Gradients"), QT_TR_NOOP("Bytes of the bucket")},
      {QT_TR_NOOP("Collectives"),
       QT_TR_NOOP("Bytes of the tensors handed to collectives, median of a call")},
      {QT_TR_NOOP("Ratio"), QT_TR_NOOP("Gradients over collectives")},
  }};
  const Head& head = kHeads.at(static_cast<std::size_t>(section));
  switch (role) {
    case Qt::DisplayRole:
      return tr(head.title);
    case Qt::ToolTipRole:
      return tr(head.tip);
    case Qt::TextAlignmentRole:
      return section >= kCount ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                               : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    default:
      return {};
  }
}

}  // namespace lockstep::ui
