#include <QItemSelectionModel>
#include <algorithm>

#include "engine/trace/Event.h"
#include "ui/model/LaneSearch.h"
#include "ui/table/TableView.h"
#include "ui/views/hooks/HooksTable.h"
#include "ui/views/hooks/HooksView.h"

// Which bar is picked: on the canvas, in the table, and by the selection that all views share.
namespace lockstep::ui {
namespace {

using analysis::HookPhase;
using trace::EventKind;

/// What a span of the run is to the hook; nothing when it is none of its doing.
std::optional<HookPick> pickOfSpan(const Span& span) {
  switch (span.kind) {
    case EventKind::kHookEncode:
      return HookPick{span.bucket, HookPhase::kEncode};
    case EventKind::kHookDecode:
      return HookPick{span.bucket, HookPhase::kDecode};
    // Communicating is waiting or transferring; the latter stands for both.
    case EventKind::kHookCommunicate:
      return HookPick{span.bucket, HookPhase::kTransfer};
    case EventKind::kCollective:
    case EventKind::kShaped:
    case EventKind::kChecked:
      // A check or a modelled link belongs to the collective, and with it to the bucket.
      return span.hasBucket() ? std::optional(HookPick{span.bucket, HookPhase::kTransfer})
                              : std::nullopt;
    case EventKind::kBucketReady:
    case EventKind::kBucketLaunched:
    case EventKind::kWait:
    case EventKind::kCopyOut:
      return span.hasBucket() ? std::optional(HookPick{span.bucket, std::nullopt}) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

void HooksView::markRow() {
  const auto row = picked_ ? rows_->rowOf(*picked_) : std::nullopt;
  const auto current = table_->currentRow();
  // Marked already: a click in the table must not move what it hit.
  const bool marked = current && table_->selectionModel()->hasSelection() && picked_ &&
                      rows_->pickOf(*current) == *picked_;
  if (!row) {
    table_->clearSelection();
  } else if (!marked) {  // of two runs, the row of either stands for the pick
    table_->showRow(*row);
  }
}

void HooksView::pick(const HookPick& pick, bool select) {
  picked_ = pick;
  markRow();
  canvas_->repaintSoon();
  describe();
  if (select) {
    selectLongest(pick);
  }
}

// The selection that all views share is a span: the one in which the longest such phase begins.
void HooksView::selectLongest(const HookPick& pick) {
  if (!any() || first_ == nullptr) {
    return;
  }
  const analysis::HookCall* call =
      analysis::longestCall(first_->times, pick.bucket, pick.phase, chosenRank());
  if (call == nullptr) {
    return;
  }
  const bool encode = pick.phase == HookPhase::kEncode;
  const bool decode = pick.phase == HookPhase::kDecode;
  // Of the whole call, or of a phase in flight, where the hook communicates.
  const std::uint64_t ticks = encode                        ? call->encodeTicks
                              : decode                      ? call->decodeTicks
                              : call->communicateTicks != 0 ? call->communicateTicks
                                                            : call->startTicks;
  const double half = model_->nsPerTick() / 2;
  const auto span = spanInLane(
      *model_, laneId(call->rank, LaneRole::kHook), model_->toNs(ticks) + half,
      [&](const Span& of) {
        return of.bucket == pick.bucket && of.step == call->step &&
               model_->toTicks(of.startNs + half) == ticks;
      });
  if (span) {
    picking_ = true;
    state_->select(span);
    picking_ = false;
  }
}

void HooksView::takeSelection() {
  // While this view selects, the pick stays: its span may be of another phase, as that of queued
  // is.
  if (picking_ || content_ == nullptr || state_ == nullptr || !state_->selection()) {
    return;
  }
  const auto selected = pickOfSpan(*state_->selection());
  if (selected && content_->sides.front().find(selected->bucket) != nullptr) {
    pick(*selected, false);
  }
}

void HooksView::movePick(int rows, int phases) {
  if (content_ == nullptr || content_->buckets().empty()) {
    return;
  }
  const std::vector<std::uint16_t> buckets = content_->buckets();
  HookPick next = picked_.value_or(HookPick{buckets.front(), std::nullopt});
  const auto at = std::find(buckets.begin(), buckets.end(), next.bucket);
  // A bucket that is gone: from the first on.
  const auto row = at == buckets.end() ? 0 : static_cast<int>(at - buckets.begin());
  const int last = static_cast<int>(buckets.size()) - 1;
  next.bucket = buckets[static_cast<std::size_t>(std::clamp(row + rows, 0, last))];
  if (phases != 0) {  // all phases stand before the first
    const int phase = next.phase ? static_cast<int>(*next.phase) : -1;
    const int moved = std::clamp(phase + phases, -1, analysis::kHookPhases - 1);
    next.phase = moved < 0 ? std::nullopt : std::optional(static_cast<HookPhase>(moved));
  }
  pick(next, true);
}

}  // namespace lockstep::ui
