#include "ui/views/timeline/TimelineController.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ui/views/timeline/LastIterations.h"
#include "ui/views/timeline/TimelineRoom.h"
#include "ui/views/timeline/layers/CountersLayer.h"
#include "ui/views/timeline/layers/LanesLayer.h"
#include "ui/views/timeline/layers/LinesLayer.h"
#include "ui/views/timeline/layers/NotesLayer.h"
#include "ui/views/timeline/layers/RanksLayer.h"
#include "ui/views/timeline/layers/WorldLayer.h"

namespace lockstep::ui {
namespace {

using namespace timeline_metrics;

constexpr double kFocusMargin = 0.25;  // beside a span that is zoomed to
constexpr double kScaleAStep = 1.15;
constexpr double kLowestRows = 0.7;
constexpr double kHighestRows = 3;
constexpr double kCloser = 0.25;    // of the visible length
constexpr double kLinesPart = 0.4;  // of the height: the lanes of a rank have room below

}  // namespace

void TimelineController::setModel(const RunModel* model) {
  model_ = model;
  layout_ = {};
  collapsed_.clear();
  many_ = {};
  glide_.end();
  before_ = {};
  scrollY_ = 0;
  mouse_.reset();
  relayout();
}

// Other things are to be shown: Note [Room for rows].
void TimelineController::relayout() {
  density_ = Density::kUsual;
  linesRoom_.reset();
  relayoutAsBefore();
}

void TimelineController::relayoutAsBefore() {
  if (model_ != nullptr) {
    const ForecastIteration* forecast = state_ == nullptr ? nullptr : state_->forecast().get();
    laidOutStartUp_ = startUpInSight();
    laidOutAround_ = aroundSight();
    TimelineLayout::Options options{
        .within = laidOutAround_,
        .scale = rowScale_,
        .shown = state_ != nullptr ? state_->shownRanks() : std::vector<int>(),
        .pinned = many_.pinned(),
        .unlike = many_.unlike(),
        .listed = many_.listed(),
        .linesRoom = linesRoom_.value_or(linesRoom()),
        .startUp = laidOutStartUp_,
        .forecastRows = forecast == nullptr ? 0 : forecast->rows,
        .counters = counterNames(),
        .density = density_};
    layout_ = fittedLayout(*model_, collapsed_, options, size_.height() - kRulerHeight);
    density_ = options.density;
    linesRoom_ = options.linesRoom;
  }
  setScroll(scrollY_);
}

std::optional<TimeRange> TimelineController::aroundSight() const {
  return state_ == nullptr ? std::nullopt : stepsAround(*model_, state_->range());
}

std::vector<std::string> TimelineController::counterNames() const {
  std::vector<std::string> names;
  if (state_ != nullptr) {
    for (const QString& name : state_->counters()) {
      names.push_back(name.toStdString());
    }
  }
  return names;
}

double TimelineController::linesRoom() const {
  return std::clamp(std::floor((size_.height() - kRulerHeight) * kLinesPart), kLeastLinesRoom,
                    kLinesRoom);
}

void TimelineController::placesChanged() {
  relayout();
  if (ready()) {
    mouse_.updateHover();
  }
}

void TimelineController::setSize(QSizeF size) {
  const double before = size_.height();
  size_ = size;
  // The lines of many ranks and counters have as much room as there is. Where a bar above or below
  // takes a little of it, dense rows stay dense: else they would grow and push ranks out of sight.
  if (size.height() > before) {
    relayout();
  } else if (size.height() < before) {
    relayoutAsBefore();
  }
  setScroll(scrollY_);
}

// Note [Following a live run]
//
// While the state follows, each change of the model moves the range to the newest iterations: three
// of the mean length of the last five, with a little room at the right. The change is silent, so it
// makes no step to undo, and it does not end the following, as any other change of the range does
// (ViewState::setRange). That is how a zoom, a pan, a jump or an undo by hand stops it, wherever
// they come from; nothing here has to look for them.
//
//   RunModel::changed ─▶ modelChanged ─▶ follow ─▶ setRange(kSilent) ─▶ rangeChanged ─▶ repaint
void TimelineController::modelChanged() {
  if (!ready()) {
    return;
  }
  relayoutAsBefore();
  if (state_->followsLive()) {
    follow();
  }
  updateIteration();
}

void TimelineController::rangeChanged() {
  if (ready()) {
    // A turn of the wheel and a drag are followed by the eye anyway; they come many a second.
    const TimeRange left = glide_.moving() ? glide_.drawn() : before_;
    glide_.begin(left, state_->rangeChange() == ViewState::RangeChange::kJump ? glideMs_ : 0);
    before_ = state_->range();
    // Rows of groups that met only in the start-up take room only while that is in sight.
    const std::optional<TimeRange> around = aroundSight();
    if (around && !laidOutAround_) {
      relayout();  // before the first look rows of the whole run had room
    } else if (startUpInSight() != laidOutStartUp_ || around != laidOutAround_) {
      relayoutAsBefore();
    }
    updateIteration();
    mouse_.updateHover();
  }
}

// What came before the first iteration; all is, as long as there is none.
bool TimelineController::startUpInSight() const {
  const auto first = model_->firstStep();
  const auto step = first ? model_->stepOfAll(*first) : std::nullopt;
  return !step || state_ == nullptr || state_->range().startNs < step->startNs;
}

bool TimelineController::glide() {
  if (glide_.moving()) {
    glide_.step(state_->range(), glide_.elapsedMs());
    if (!glide_.moving()) {
      mouse_.updateHover();  // under a pointer that did not move lies something else
    }
  }
  return glide_.moving();
}

TimeRange TimelineController::drawnRange() const {
  if (state_ == nullptr) {
    return {};
  }
  return glide_.moving() ? glide_.drawn() : state_->range();
}

TimeAxis TimelineController::axis() const {
  return TimelineSight::axisFor(size_.width(), drawnRange());
}

TimelineFrame TimelineController::frame() const {
  TimelineFrame frame;
  frame.size = size_;
  frame.range = drawnRange();
  frame.scrollY = scrollY_;
  frame.keepsHeads = true;
  frame.colourBy = state_->colourBy();
  frame.selection = state_->selection();
  frame.hovered = state_->hovered();
  if (!mouse_.pans()) {
    frame.pointer = mouse_.pointer();
  }
  frame.measured = mouse_.measured();
  frame.filter = mouse_.filtering() ? mouse_.filtering() : state_->filter();
  frame.ribbons = ribbons_;
  frame.notes = notes_;
  frame.found = finder_;
  frame.forecast = state_->forecast().get();
  return frame;
}

void TimelineController::show(TimeRange range, ViewState::RangeChange change) {
  const TimeRange all = model_->extent();
  if (all.empty()) {
    return;
  }
  const TimeAxis clamped =
      TimelineSight::axisFor(size_.width(), range).clamped(all.startNs, all.endNs);
  state_->setRange({clamped.startNs(), clamped.endNs()}, change);
}

void TimelineController::follow() {
  if (!model_->extent().empty()) {
    state_->setRange(lastIterations(*model_), ViewState::RangeChange::kSilent);
  }
}

void TimelineController::updateIteration() {
  const double middle = state_->range().middleNs();
  std::optional<std::uint32_t> iteration;
  for (int rank = 0; rank < model_->rankCount() && !iteration; ++rank) {
    const auto step = state_->followsLive() ? model_->lastStep(rank) : model_->stepAt(rank, middle);
    if (step) {
      iteration = step->step;
    }
  }
  state_->setIteration(iteration);
}

std::optional<Span> TimelineController::spanAt(QPointF position) const {
  const TimelineSight now = sight();
  if (position.y() < kRulerHeight || position.x() < now.axis.left() ||
      position.x() > now.axis.right()) {
    return std::nullopt;
  }
  const auto met = WorldLayer::spanAt(now, position);
  const auto inLine = met ? met : LinesLayer::spanAt(now, position);
  return inLine ? inLine : LanesLayer::spanAt(now, position);
}

std::optional<TimelineLayout::CounterHit> TimelineController::counterAt(QPointF position) const {
  return CountersLayer::counterAt(sight(), position);
}

std::optional<Mark> TimelineController::markAt(QPointF position) const {
  return NotesLayer::markAt(sight(), position);
}

std::optional<int> TimelineController::lineAt(QPointF position) const {
  return LinesLayer::rankAt(sight(), position);
}

std::optional<int> TimelineController::headerAt(QPointF position) const {
  return RanksLayer::headerAt(sight(), position);
}

void TimelineController::zoom(double factor) {
  show(axis().zoomedAbout(factor, mouse_.pointer()), ViewState::RangeChange::kZoom);
}

void TimelineController::pan(double part) {
  show(axis().panned(part * axis().width()), ViewState::RangeChange::kPan);
}

void TimelineController::focus() {
  const auto& selection = state_->selection();
  if (selection) {
    const double length = std::max(selection->durationNs, ViewState::kMinimumRangeNs * 10);
    const double middle = selection->startNs + selection->durationNs / 2;
    const TimeRange wanted = TimeRange::about(middle, length * (1 + 2 * kFocusMargin));
    const TimeRange now = state_->range();
    const double near = wanted.lengthNs() * 1e-3;
    // Asked for again where it is shown already, all is meant: one key goes back and forth.
    if (std::abs(now.startNs - wanted.startNs) > near ||
        std::abs(now.endNs - wanted.endNs) > near) {
      bringIntoSight(*selection);
      show(wanted, ViewState::RangeChange::kJump);
      return;
    }
  }
  showAll();
}

void TimelineController::showAll() {
  show(model_->extent().widened(0.02), ViewState::RangeChange::kJump);
}

void TimelineController::showStart() {
  const TimeRange all = model_->extent();
  const double length = state_->range().lengthNs();
  show(TimeRange{all.startNs, all.startNs + length}, ViewState::RangeChange::kJump);
}

void TimelineController::showEnd() {
  const TimeRange all = model_->extent();
  const double length = state_->range().lengthNs();
  show(TimeRange{all.endNs - length, all.endNs}, ViewState::RangeChange::kJump);
}

void TimelineController::moveIteration(int direction) {
  const auto now = state_->iteration();
  const int rank = 0;
  if (!now) {
    // Before the first or after the last iteration: go to the nearer end of them.
    if (const auto last = model_->lastStep(rank)) {
      const bool after = state_->range().middleNs() > last->endNs;
      const Span first = model_->spanAt(laneId(rank, LaneRole::kPhases), 0, 0);
      goToIteration(after ? last->step : first.step);
    }
    return;
  }
  if (direction < 0 && *now == 0) {
    return;
  }
  goToIteration(direction > 0 ? *now + 1 : *now - 1);
}

void TimelineController::goToIteration(std::uint32_t iteration) {
  const auto step = model_->step(0, iteration);
  if (!step) {
    return;
  }
  const TimeRange all{step->startNs, step->endNs};
  // From far out, come close enough to see the iteration.
  const double length = std::min(state_->range().lengthNs(), all.lengthNs() * 20);
  show(TimeRange::about(all.middleNs(), length), ViewState::RangeChange::kJump);
}

void TimelineController::selectNeighbour(int direction, bool sameKind) {
  const auto& selection = state_->selection();
  if (!selection) {
    // Start in the middle of the first lane that has something there.
    const double middle = state_->range().middleNs();
    for (const Lane& lane : model_->lanes()) {
      for (int row = 0; row < static_cast<int>(lane.rows.size()); ++row) {
        if (const auto span = model_->findSpan(lane.id, row, middle)) {
          state_->select(span);
          return;
        }
      }
    }
    return;
  }
  const auto next = sameKind ? model_->neighbourOfSameKind(*selection, direction)
                             : model_->neighbour(*selection, direction);
  if (next) {
    reveal(*next);
  }
}

void TimelineController::bringIntoSight(const Span& span) {
  // First it gets lanes, then the time is moved, by which rows have room: only by as much as is
  // needed, and with the scale as it is. Last its row is scrolled to.
  collapsed_.erase(span.rank());
  giveLanes(span.rank());
  const TimeRange range = state_->range();
  if (span.endNs() < range.startNs || span.startNs > range.endNs) {
    const double middle = span.startNs + std::min(span.durationNs, range.lengthNs()) / 2;
    show(TimeRange::about(middle, range.lengthNs()), ViewState::RangeChange::kPan);
  }
  relayoutAsBefore();
  if (const auto row = layout_.find(span.lane, span.row)) {
    const double visible = size_.height() - kRulerHeight;
    const double covered = sight().worldKept + kRankHeader;  // World and the header of its rank
    if (row->top < scrollY_ + covered) {
      setScroll(row->top - covered);
    } else if (row->top + row->height > scrollY_ + visible) {
      setScroll(row->top + row->height - visible + kRankHeader);
    }
  }
}

void TimelineController::clear() {
  // What was laid over the picture last goes first.
  if (mouse_.measured()) {
    mouse_.dropMeasured();
  } else if (state_->filter()) {
    state_->setFilter(std::nullopt);
  } else {
    state_->clearSelection();
  }
}

// Beside those that are shown; in place of them where there would be too many.
void TimelineController::giveLanes(int rank) {
  if (layout_.boxOf(rank) != nullptr) {
    return;
  }
  std::vector<int> ranks = state_->shownRanks();
  if (!ofMany()) {
    ranks.clear();
  } else if (ranks.size() < kFewRanks) {
    ranks.push_back(rank);
  } else {
    ranks = {rank};
  }
  showRanks(ranks);
}

void TimelineController::showRanks(const std::vector<int>& ranks) {
  state_->showRanks(ranks);
  relayout();
}

void TimelineController::showUnlike(int direction) {
  const std::vector<int> ranks = many_.unlikeAfter(state_->shownRanks(), direction);
  if (!ranks.empty()) {
    showRanks(ranks);
  }
}

void TimelineController::setUnlike(std::vector<std::vector<int>> ranks) {
  many_.setUnlike(std::move(ranks));
  relayout();
}

void TimelineController::togglePin(int rank) {
  many_.togglePin(rank);
  relayout();
}

// Folded, since their lanes would be no list but a landscape without end.
void TimelineController::setListed(bool listed) {
  many_.setListed(listed);
  collapsed_.clear();
  for (int rank = 0; listed && rank < model_->rankCount(); ++rank) {
    collapsed_.insert(rank);
  }
  relayout();
}

bool TimelineController::ofMany() const {
  return model_ != nullptr && static_cast<std::size_t>(model_->rankCount()) > kFewRanks;
}

void TimelineController::scaleRows(double steps) {
  rowScale_ = std::clamp(rowScale_ * std::pow(kScaleAStep, steps), kLowestRows, kHighestRows);
  relayout();
}

void TimelineController::reveal(const Span& span) {
  state_->select(span);
  bringIntoSight(span);
}

void TimelineController::zoomTo(const std::optional<Span>& span, double ns) {
  if (span && span->durationNs > 0) {
    state_->select(span);
    focus();
    return;
  }
  show(TimeRange::about(ns, state_->range().lengthNs() * kCloser), ViewState::RangeChange::kJump);
}

void TimelineController::toggleRank(int rank) {
  if (!collapsed_.erase(rank)) {
    collapsed_.insert(rank);
  }
  relayout();
}

void TimelineController::collapseAll(bool collapsed) {
  collapsed_.clear();
  for (int rank = 0; collapsed && rank < model_->rankCount(); ++rank) {
    collapsed_.insert(rank);
  }
  relayout();
}

double TimelineController::maximumScroll() const {
  return std::max(0.0, layout_.height() + kRulerHeight - size_.height());
}

void TimelineController::setScroll(double y) {
  scrollY_ = std::clamp(y, 0.0, maximumScroll());
}

}  // namespace lockstep::ui
