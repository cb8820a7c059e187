#include "ui/model/ViewState.h"

#include <QElapsedTimer>
#include <QUndoCommand>
#include <algorithm>
#include <utility>

#include "engine/trace/Event.h"

namespace lockstep::ui {
namespace {

constexpr int kNoMerge = -1;
constexpr int kZoomMerge = 1;
constexpr int kPanMerge = 2;
constexpr qint64 kMergeWithinMs = 1000;
constexpr int kUndoLimit = 200;
constexpr std::size_t kHistoryLimit = 200;

qint64 nowMs() {
  QElapsedTimer clock;
  clock.start();
  return clock.msecsSinceReference();
}

template <typename Part>
bool same(const Part& a, const Part& b) {
  return a == b;
}

bool same(const std::optional<Span>& a, const std::optional<Span>& b) {
  return a.has_value() == b.has_value() && (!a || a->sameAs(*b));
}

}  // namespace

// Calls with each part of what is shared, and with the signal that it changed.
template <typename Visit>
void ViewState::eachPart(Visit visit) {
  visit(&Values::range, &ViewState::rangeChanged);
  visit(&Values::filter, &ViewState::filterChanged);
  visit(&Values::selection, &ViewState::selectionChanged);
  visit(&Values::colourBy, &ViewState::colourByChanged);
  visit(&Values::counters, &ViewState::countersChanged);
  visit(&Values::shownRanks, &ViewState::shownRanksChanged);
}

// Note [Undo of a view]
//
// Every verb makes a copy of all values, changes one and pushes a Change with the values before and
// after; pushing applies it. What is compared at undo is each field alone: a live run moves the
// range silently between two changes, and undoing a selection must not throw the range back.
//
// Zooms and pans come many a second. Changes of the same sort within a second of the one before
// become one entry (mergeWith), so that one undo takes back one turn of the wheel, and the way back
// (goBack) remembers its begin alone (remember). kNoMerge is -1, at which Qt never merges.
class ViewState::Change : public QUndoCommand {
 public:
  Change(ViewState* state, const QString& text, Values before, Values after, int mergeKey)
      : QUndoCommand(text), state_(state), before_(std::move(before)), after_(std::move(after)),
        mergeKey_(mergeKey), atMs_(nowMs()) {}

  void undo() override {
    state_->rangeChange_ = RangeChange::kJump;
    go(before_, after_);
  }
  void redo() override { go(after_, before_); }
  int id() const override { return mergeKey_; }

  bool mergeWith(const QUndoCommand* other) override {
    const auto* next = static_cast<const Change*>(other);
    // From the latest of those that were merged: a long turn of the wheel stays one entry.
    if (next->atMs_ - atMs_ > kMergeWithinMs) {
      return false;
    }
    after_ = next->after_;
    atMs_ = next->atMs_;
    return true;
  }

 private:
  // Moves only what this change was about: following a live run moves the range without an entry.
  void go(const Values& to, const Values& from) {
    Values next = state_->values_;
    eachPart([&](auto part, auto) {
      if (!same(to.*part, from.*part)) {
        next.*part = to.*part;
      }
    });
    // Someone who undoes a zoom wants to stay where that leads.
    if (to.range != from.range) {
      state_->setFollowLive(false);
    }
    state_->apply(next);
  }

  ViewState* state_;
  Values before_;
  Values after_;
  int mergeKey_;
  qint64 atMs_;
};

ViewState::ViewState(QObject* parent) : QObject(parent) { undo_.setUndoLimit(kUndoLimit); }

ViewState::~ViewState() = default;

void ViewState::push(const QString& text, const Values& next, int mergeKey) {
  undo_.push(new Change(this, text, values_, next, mergeKey));
}

void ViewState::apply(const Values& next) {
  const Values before = std::exchange(values_, next);
  eachPart([&](auto part, auto changed) {
    if (!same(before.*part, next.*part)) {
      emit(this->*changed)();
    }
  });
}

template <typename Part>
void ViewState::change(Part Values::*part, const Part& value, const QString& text) {
  if (same(value, values_.*part)) {
    return;
  }
  Values next = values_;
  next.*part = value;
  push(text, next, kNoMerge);
}

void ViewState::setRange(TimeRange range, RangeChange change) {
  if (range.lengthNs() < kMinimumRangeNs) {
    range = TimeRange::about(range.middleNs(), kMinimumRangeNs);
  }
  // Before the comparison: a move by hand ends following even where the range can go no further.
  if (change != RangeChange::kSilent) {
    setFollowLive(false);
  }
  if (range == values_.range) {
    return;
  }
  remember(change);
  rangeChange_ = change;
  Values next = values_;
  next.range = range;
  switch (change) {
    case RangeChange::kSilent: apply(next); break;
    case RangeChange::kJump: push(tr("go to another time"), next, kNoMerge); break;
    case RangeChange::kZoom: push(tr("zoom"), next, kZoomMerge); break;
    case RangeChange::kPan: push(tr("move"), next, kPanMerge); break;
  }
}

// Before the range moves: what is left goes into the history, once for a turn of the wheel.
void ViewState::remember(RangeChange change) {
  if (change == RangeChange::kSilent || values_.range.empty()) {
    return;
  }
  const qint64 now = nowMs();
  const bool goesOn = change != RangeChange::kJump && change == lastChange_ &&
                      now - lastChangeMs_ <= kMergeWithinMs && !back_.empty();
  lastChange_ = change;
  lastChangeMs_ = now;
  if (!goesOn) {
    back_.push_back(values_.range);
    if (back_.size() > kHistoryLimit) {
      back_.erase(back_.begin());
    }
  }
  // As in a browser: who goes elsewhere from the middle of the way gives up what lay ahead.
  forward_.clear();
}

void ViewState::travel(std::vector<TimeRange>& from, std::vector<TimeRange>& to) {
  if (from.empty()) {
    return;
  }
  to.push_back(values_.range);
  Values next = values_;
  next.range = from.back();
  from.pop_back();
  // The next zoom begins a new entry of the history, whatever was done before.
  lastChange_ = RangeChange::kJump;
  rangeChange_ = RangeChange::kJump;
  setFollowLive(false);
  push(tr("go to another time"), next, kNoMerge);
}

void ViewState::goBack() { travel(back_, forward_); }

void ViewState::goForward() { travel(forward_, back_); }

void ViewState::setFilter(const std::optional<TimeRange>& filter) {
  const std::optional<TimeRange> wanted = filter && !filter->empty() ? filter : std::nullopt;
  change(&Values::filter, wanted, wanted ? tr("filter to a time") : tr("clear the filter"));
}

void ViewState::select(const std::optional<Span>& span) {
  change(&Values::selection, span, span ? tr("select") : tr("clear the selection"));
}

void ViewState::setHovered(const std::optional<Span>& span) {
  if (same(span, hovered_)) {
    return;
  }
  hovered_ = span;
  emit hoveredChanged();
}

void ViewState::setColourBy(ColourBy colourBy) {
  change(&Values::colourBy, colourBy, tr("colour otherwise"));
}

QStringList ViewState::usualCounters() {
  const auto named = [](trace::CounterId id) {
    const std::string_view name = trace::name(id);
    return QString::fromLatin1(name.data(), static_cast<qsizetype>(name.size()));
  };
  return {named(trace::CounterId::kResidentBytes), named(trace::CounterId::kCpuPercent)};
}

void ViewState::setCounters(const QStringList& names) {
  change(&Values::counters, names, tr("show other counters"));
}

void ViewState::showRanks(const std::vector<int>& ranks) {
  std::vector<int> wanted;
  for (const int rank : ranks) {
    if (std::ranges::find(wanted, rank) == wanted.end()) {
      wanted.push_back(rank);
    }
  }
  change(&Values::shownRanks, wanted, wanted.empty() ? tr("show all ranks") : tr("show some ranks"));
}

void ViewState::setFollowLive(bool follow) {
  if (follow != followLive_) {
    followLive_ = follow;
    emit followLiveChanged(follow);
  }
}

void ViewState::setIteration(std::optional<std::uint32_t> iteration) {
  if (iteration != iteration_) {
    iteration_ = iteration;
    emit iterationChanged();
  }
}

void ViewState::setForecast(std::shared_ptr<const ForecastIteration> forecast) {
  if (forecast != forecast_) {
    forecast_ = std::move(forecast);
    emit forecastChanged();
  }
}

// Without entries for undo: what they hold is about a run that is gone.
void ViewState::reset() {
  undo_.clear();
  back_.clear();
  forward_.clear();
  apply(Values{});
  setHovered(std::nullopt);
  setFollowLive(false);
  setIteration(std::nullopt);
  setForecast(nullptr);
}

}  // namespace lockstep::ui
