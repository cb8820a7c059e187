#include "ui/views/hooks/HooksView.h"

#include <QEvent>
#include <QItemSelectionModel>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/trace/Event.h"
#include "ui/model/Format.h"
#include "ui/model/LaneSearch.h"
#include "ui/model/ViewState.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/hooks/LiveParametersPanel.h"
#include "ui/table/TableView.h"
#include "ui/views/hooks/HooksTable.h"

namespace lockstep::ui {
namespace {

constexpr double kWheelPixels = 48;

using analysis::HookPhase;
using trace::EventKind;

/// What a span of the run is to the hook; nothing when it is none of its doing.
std::optional<HookPick> pickOfSpan(const Span& span) {
  using enum EventKind;
  // Communicating is waiting or transferring; the latter stands for both. A check or a modelled
  // link belongs to the collective, and with it to the bucket.
  static const std::map<EventKind, std::optional<HookPhase>> kPhases{
      {kHookEncode, HookPhase::kEncode},
      {kHookDecode, HookPhase::kDecode},
      {kHookCommunicate, HookPhase::kTransfer},
      {kCollective, HookPhase::kTransfer},
      {kShaped, HookPhase::kTransfer},
      {kChecked, HookPhase::kTransfer},
      {kBucketReady, {}},
      {kBucketLaunched, {}},
      {kWait, {}},
      {kCopyOut, {}}};
  const auto phase = kPhases.find(span.kind);
  return phase != kPhases.end() && span.hasBucket()
             ? std::optional(HookPick{span.bucket, phase->second})
             : std::nullopt;
}

}  // namespace

HooksView::HooksView(QWidget* parent) : RunView(parent) {
  setObjectName("hooksView");
  setAccessibleName(tr("Hooks"));
  buildControls();
  makeAction(tr("Next bucket"), {Qt::Key_Down}, [this] { movePick(1, 0); });
  makeAction(tr("Previous bucket"), {Qt::Key_Up}, [this] { movePick(-1, 0); });
  makeAction(tr("Next phase"), {Qt::Key_Right}, [this] { movePick(0, 1); });
  makeAction(tr("Previous phase"), {Qt::Key_Left}, [this] { movePick(0, -1); });
}

// Another run: all that was made of the one before is dropped, also what is still being made. The
// second run stays over it.
void HooksView::runChanged() {
  firstJob_.drop();
  contentJob_.drop();
  first_.reset();
  growing_ = std::make_shared<GrowingHookRun>();
  picked_.reset();
  hovered_.reset();
  scrollY_ = 0;
  stale_ = true;
  takeContent(nullptr);
  live_->setRun(model_);
  if (any()) {
    connect(analyser_, &RunAnalyser::ready, this, &HooksView::analysisReady);
    connect(state_, &ViewState::selectionChanged, this, &HooksView::takeSelection);
    connect(model_, &RunModel::changed, this, [this] {
      if (isVisible() && analyser_ != nullptr) {
        analyser_->want();
      }
    });
    // What the analysis does not see, such as the wire's bytes at the end, moves this.
    connect(model_, &RunModel::infoChanged, this, [this] {
      if (!model_->isLive()) {
        analysisReady();
      }
    });
    fillRanks();
    analysisReady();
  }
  fillOthers();
}

bool HooksView::eventFilter(QObject* watched, QEvent* event) {
  if (watched == canvas_ && event->type() == QEvent::Resize) {
    updateScrollBar();
  }
  return RunView::eventFilter(watched, event);
}

void HooksView::analysisReady() {
  stale_ = true;
  refresh();
}

// Only while in sight: what comes meanwhile is taken when the view is shown.
void HooksView::refresh() {
  if (!isVisible() || !any()) {
    return;
  }
  analyser_->want();
  const auto latest = analyser_->latest();
  if (!stale_ || firstJob_.busy() || latest == nullptr) {
    showState();
    return;
  }
  // Before the job begins: what comes while it works makes this stale again.
  stale_ = false;
  firstJob_.start([growing = growing_, facts = hookFactsOf(*model_),
                   latest] { return growing->refresh(facts, *latest); },
                  [this](std::shared_ptr<const HookRun> made) {
                    first_ = std::move(made);
                    fillRanks();
                    prepare();
                    refresh();  // when more came meanwhile
                  });
}

void HooksView::compareWith(const QString& path) {
  secondJob_.drop();
  otherPath_ = path;
  failure_.clear();
  second_.reset();
  fillOthers();
  if (path.isEmpty()) {
    // Without a second run there is nothing to wait for.
    prepare();
    return;
  }
  secondJob_.start([file = std::filesystem::path(path.toStdString())] { return readHookRun(file); },
                   [this](const base::Result<std::shared_ptr<const HookRun>>& read) {
                     if (read.ok()) {
                       second_ = read.value();
                     } else {
                       // The open run stays in sight; what failed is said above it.
                       failure_ = QString::fromStdString(read.error().message());
                       otherPath_.clear();
                       fillOthers();
                       showState();
                       emit failed(failure_);
                     }
                     prepare();
                   });
}

void HooksView::prepare() {
  if (first_ == nullptr) {
    showState();
    return;
  }
  // Called when either job ends and at each choice of a rank; only the latest counts.
  std::vector<std::shared_ptr<const HookRun>> runs{first_};
  if (second_ != nullptr) {
    runs.push_back(second_);
  }
  contentJob_.start(
      [runs, rank = chosenRank()] { return makeHooksContent(runs, rank); },
      [this](std::shared_ptr<const HooksContent> content) { takeContent(std::move(content)); });
}

void HooksView::takeContent(std::shared_ptr<const HooksContent> content) {
  content_ = std::move(content);
  // Filled before it is marked, which looks for the row.
  fillTable();
  table_->setColumnHidden(HooksTable::kRun, content_ == nullptr || !content_->compares());
  // Kept where the user or the selection chose one, even where this content has no such bar.
  if (content_ != nullptr && !picked_) {
    picked_ = content_->heaviest();
  }
  markRow();
  showState();
  updateScrollBar();
  describe();
  repaintSoon();
}

HooksScene HooksView::scene() const {
  return {*content_, colours(), {canvas_->size(), scrollY_, picked_, hovered_}};
}

std::optional<QPointF> HooksView::positionOf(const HookPick& pick, std::size_t side) const {
  if (content_ == nullptr) {
    return std::nullopt;
  }
  const QRectF rect = scene().rectOf(pick, side);
  const QPointF middle = rect.center();
  return !rect.isEmpty() && QRectF(canvas_->rect()).contains(middle) ? std::optional(middle)
                                                                     : std::nullopt;
}

void HooksView::paintCanvas(DisplayList& list, QSizeF size) {
  if (content_ == nullptr) {
    list.fill(QRectF(QPointF(0, 0), size), colours().background);
    return;
  }
  HooksScene(*content_, colours(), {size, scrollY_, picked_, hovered_}).draw(list);
}

void HooksView::pointerPressed(const PointerInput& input) {
  canvas_->setFocus(Qt::MouseFocusReason);
  if (content_ == nullptr || input.button != Qt::LeftButton) {
    return;
  }
  if (const auto hit = scene().pickAt(input.position)) {
    pick(*hit, true);
  }
}

void HooksView::pointerMoved(const PointerInput& input) {
  if (content_ == nullptr) {
    return;
  }
  const HooksScene now = scene();
  const auto hit = now.pickAt(input.position);
  canvas_->setCursor(hit ? Qt::PointingHandCursor : Qt::ArrowCursor);
  // An empty one hides what is shown.
  QToolTip::showText(canvas_->mapToGlobal(input.position.toPoint()), now.tipAt(input.position),
                     canvas_);
  if (hit != hovered_) {
    hovered_ = hit;
    repaintSoon();
  }
}

void HooksView::pointerLeft() {
  hovered_.reset();
  repaintSoon();
}

void HooksView::wheelTurned(const WheelInput& input) {
  scrollBar_->setValue(
      static_cast<int>(std::lround(scrollBar_->value() - input.stepsY * kWheelPixels)));
}

void HooksView::updateScrollBar() {
  const double most =
      content_ == nullptr ? 0 : std::max(0.0, scene().contentHeight() - canvas_->height());
  // Less than a pixel is no reason for a scroll bar.
  setScrollable(most > 1 ? most : 0, static_cast<int>(kWheelPixels));
}

// What a screen reader says about the picture.
void HooksView::describe() {
  if (content_ == nullptr) {
    canvas_->setAccessibleDescription(tr("Nothing was measured yet."));
    return;
  }
  QStringList parts;
  for (const HookSide& side : content_->sides) {
    QStringList buckets;
    for (const analysis::HookBucket& bucket : side.buckets) {
      buckets
          << tr("%1 %2 in the median").arg(bucketTitle(bucket.bucket), formatMs(bucket.total.p50));
    }
    parts << tr("Hook %1 of %2: %3.").arg(side.run->hook, side.run->run, buckets.join(", "));
  }
  if (picked_) {
    parts
        << tr("Shown below: %1, %2.").arg(bucketTitle(picked_->bucket), phaseTitle(picked_->phase));
  }
  canvas_->setAccessibleDescription(parts.join(QLatin1Char(' ')));
}

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
  repaintSoon();
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
  const analysis::HookCall* call = first_->calls.longest(pick.bucket, pick.phase, chosenRank());
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
  const auto span = spanInLane(*model_, laneId(call->rank, LaneRole::kHook),
                               model_->toNs(ticks) + half, [&](const Span& of) {
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
