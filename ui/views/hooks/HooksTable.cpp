#include "ui/views/hooks/HooksTable.h"

#include <algorithm>
#include <array>

#include "ui/model/Format.h"
#include "ui/views/hooks/HookCharts.h"
#include "ui/views/hooks/HookWords.h"

namespace lockstep::ui {
namespace {

using namespace hook_words;
using analysis::HookPhase;

// The whole call, then its phases, those that no call had any of left out.
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

std::vector<TableRows::Column> hookColumns() {
  struct Head {
    const char* title;
    const char* tip;
  };
  static const std::array<Head, HooksTable::kColumnCount> kHeads{{
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
  std::vector<TableRows::Column> columns;
  for (const Head& head : kHeads) {
    const bool figure = columns.size() >= HooksTable::kCount;
    columns.push_back({HooksTable::tr(head.title), HooksTable::tr(head.tip), figure, true});
  }
  return columns;
}

}  // namespace

HooksTable::HooksTable(std::shared_ptr<const HooksContent> content)
    : TableRows(hookColumns()), content_(std::move(content)) {
  for (std::size_t side = 0; content_ != nullptr && side < content_->sides.size(); ++side) {
    for (const analysis::HookBucket& bucket : content_->sides[side].buckets) {
      for (const HookPick& pick : picksOf(bucket)) {
        rows_.push_back({side, pick});
      }
    }
  }
}

// Of a live run the numbers move, and the selection stays.
bool HooksTable::continues(const TableRows& before) const {
  return rows_ == static_cast<const HooksTable&>(before).rows_;
}

std::optional<std::size_t> HooksTable::rowOf(const HookPick& pick) const {
  const auto at =
      std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.pick == pick; });
  return at == rows_.end() ? std::nullopt
                           : std::optional(static_cast<std::size_t>(at - rows_.begin()));
}

std::optional<double> HooksTable::number(std::size_t at, std::size_t column) const {
  const Row& row = rows_[at];
  const HookSide& side = content_->sides[row.side];
  const analysis::HookBucket* bucket = side.find(row.pick.bucket);
  const analysis::Durations* durations = side.durations(row.pick);
  const bool whole = !row.pick.phase.has_value();
  switch (column) {
    case kRun:
      return row.side;
    // After all buckets: kNoBucket is the largest number.
    case kBucket:
      return row.pick.bucket;
    case kPhase:
      // The whole before its phases.
      return whole ? -1 : static_cast<int>(*row.pick.phase);
    case kCount:
      return static_cast<double>(durations->count());
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
    // Bytes are of a call, not of its phases.
    case kBefore:
      return whole && bucket->gradientBytes ? std::optional<double>(*bucket->gradientBytes)
                                            : std::nullopt;
    case kAfter:
      return whole ? std::optional<double>(bucket->payloadBytes) : std::nullopt;
    case kRatio:
      return whole ? bucket->ratio() : std::nullopt;
    default:
      return std::nullopt;
  }
}

QString HooksTable::text(std::size_t at, std::size_t column) const {
  const Row& row = rows_[at];
  const auto value = number(at, column);
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
      return formatCount(static_cast<std::uint64_t>(*value));
    case kShare:
      return formatPercent(*value);
    case kBefore:
    case kAfter:
      return value ? formatBytes(*value) : QString();
    case kRatio:
      return value ? ratioText(*value) : QString();
    default:
      return formatMs(*value);
  }
}

QString HooksTable::tip(std::size_t row, std::size_t) const {
  const HookPick& pick = rows_[row].pick;
  return pick.phase ? phaseMeaning(*pick.phase)
                    : tr("The whole call, from its first phase to its last.");
}

}  // namespace lockstep::ui
