#include "ui/views/hooks/HooksTable.h"

#include <algorithm>
#include <functional>

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

}  // namespace

HooksTable::HooksTable(std::shared_ptr<const HooksContent> content) : content_(std::move(content)) {
  for (std::size_t side = 0; content_ != nullptr && side < content_->sides.size(); ++side) {
    for (const analysis::HookBucket& bucket : content_->sides[side].buckets) {
      for (const HookPick& pick : picksOf(bucket)) {
        rows_.push_back({side, pick});
      }
    }
  }
  words(
      {tr("Hook"), tr("Which run")},
      [this](std::size_t row) {
        const QString hook = sideOf(row).run->hook;
        return content_->compares() ? sideName(rows_[row].side) + QStringLiteral("  ") + hook
                                    : hook;
      },
      [this](std::size_t row) { return rows_[row].side; });
  words(
      {tr("Bucket"), tr("By the layout after the warm-up")},
      [this](std::size_t row) { return bucketTitle(rows_[row].pick.bucket); },
      [this](std::size_t row) { return rows_[row].pick.bucket; });
  words(
      {tr("Phase"), tr("Every moment of a call belongs to one phase")},
      [this](std::size_t row) { return phaseTitle(rows_[row].pick.phase); },
      [this](std::size_t row) {
        const auto& phase = rows_[row].pick.phase;
        return phase ? static_cast<int>(*phase) : -1;
      });
  addCalls();
  addBytes();
}

void HooksTable::addCalls() {
  const auto of = [this](auto figure) -> Number {
    return [this, figure](std::size_t row) {
      return static_cast<double>(std::invoke(figure, *sideOf(row).durations(rows_[row].pick)));
    };
  };
  using analysis::Durations;
  figures(tr("Count"), tr("Calls in the measured steps"), of(&Durations::count), inCount);
  figures(tr("Mean"), tr("Of a call"), of(&Durations::mean), formatMs);
  figures(tr("P50"), tr("Half of the calls are shorter"), of(&Durations::p50), formatMs);
  figures(tr("P90"), tr("90 % of the calls are shorter"), of(&Durations::p90), formatMs);
  figures(tr("P99"), tr("99 % of the calls are shorter"), of(&Durations::p99), formatMs);
  figures(tr("Max"), tr("The longest call"), of(&Durations::max), formatMs);
}

void HooksTable::addBytes() {
  // Of a bucket as a whole.
  const auto whole = [this](auto figure) -> Number {
    return [this, figure](std::size_t row) {
      const HookPick& pick = rows_[row].pick;
      return pick.phase
                 ? std::nullopt
                 : std::optional<double>(std::invoke(figure, *sideOf(row).find(pick.bucket)));
    };
  };
  using analysis::HookBucket;
  figures(
      tr("Share"), tr("Of the time of all calls of the hook"),
      [this](std::size_t row) {
        const HookPick& pick = rows_[row].pick;
        const HookBucket& bucket = *sideOf(row).find(pick.bucket);
        return 100 *
               (pick.phase ? bucket.shares[static_cast<std::size_t>(*pick.phase)] : bucket.share);
      },
      [](double percent) { return formatPercent(percent); });
  figures(tr("Gradients"), tr("Bytes of the bucket"), whole(&HookBucket::gradientBytes),
          formatBytes);
  figures(tr("Collectives"), tr("Bytes of the tensors handed to collectives, median of a call"),
          whole(&HookBucket::payloadBytes), formatBytes);
  figures(tr("Ratio"), tr("Gradients over collectives"), whole(&HookBucket::ratio), ratioText);
}

// Of a live run the numbers move, and the selection stays.
bool HooksTable::continues(const TableRows& before) const {
  return rows_ == static_cast<const HooksTable&>(before).rows_;
}

std::optional<std::size_t> HooksTable::rowOf(const HookPick& pick) const {
  const auto at = std::ranges::find(rows_, pick, &Row::pick);
  return at == rows_.end() ? std::nullopt
                           : std::optional(static_cast<std::size_t>(at - rows_.begin()));
}

QString HooksTable::tip(std::size_t row, std::size_t) const {
  const HookPick& pick = rows_[row].pick;
  return pick.phase ? phaseMeaning(*pick.phase)
                    : tr("The whole call, from its first phase to its last.");
}

}  // namespace lockstep::ui
