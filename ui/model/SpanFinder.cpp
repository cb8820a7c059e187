#include "ui/model/SpanFinder.h"

#include <QElapsedTimer>
#include <QTimer>
#include <algorithm>

#include "ui/model/Follow.h"

namespace lockstep::ui {
namespace {

constexpr qint64 kFindSliceMs = 5;
constexpr std::size_t kFindsBetweenClockLooks = 512;

}  // namespace

SpanFinder::SpanFinder(QObject* parent) : QObject(parent), timer_(new QTimer(this)) {
  timer_->setSingleShot(true);
  connect(timer_, &QTimer::timeout, this, &SpanFinder::searchOn);
}

void SpanFinder::setModel(RunModel* model) {
  follow(model_, model, this);
  if (model_ != nullptr) {
    connect(model_, &RunModel::changed, this, &SpanFinder::modelChanged);
    connect(model_, &RunModel::infoChanged, this, &SpanFinder::infoChanged);
  }
  forgetNames();
  restart();
}

// A query remembers which titles match, and titles hold names of the run's parameters: other
// parameters want another query of the same text.
void SpanFinder::forgetNames() {
  parameters_ = model_ == nullptr ? 0 : model_->parameters().size();
  query_ = SpanQuery(query_.text());
}

void SpanFinder::infoChanged() {
  if (model_ != nullptr && model_->parameters().size() != parameters_) {
    forgetNames();
    restart();
  } else {
    modelChanged();
  }
}

void SpanFinder::setQuery(const SpanQuery& query) {
  query_ = query;
  restart();
}

void SpanFinder::restart() {
  found_.clear();
  searched_.clear();
  count_ = 0;
  kept_ = 0;
  wasLive_ = model_ != nullptr && model_->isLive();
  searching_ = model_ != nullptr && query_.valid();
  if (searching_) {
    timer_->start(0);
  } else {
    timer_->stop();
  }
  emit changed();
}

void SpanFinder::modelChanged() {
  if (!query_.valid() || model_ == nullptr) {
    return;
  }
  if (wasLive_ && !model_->isLive()) {
    // While it was live, a span that was inserted before `searched_` of its row was not looked at,
    // and the one that it pushed over that place was looked at twice. Now that nothing moves any
    // more, all is searched once more.
    restart();
    return;
  }
  searching_ = true;
  if (!timer_->isActive()) {
    timer_->start(0);
  }
}

void SpanFinder::searchOn() {
  if (model_ == nullptr || !query_.valid()) {
    return;
  }
  QElapsedTimer clock;
  clock.start();
  const std::uint64_t before = count_;
  for (const Lane& lane : model_->lanes()) {
    for (int row = 0; row < static_cast<int>(lane.rows.size()); ++row) {
      const Place place{lane.id, row};
      const run::SpanStore& store = lane.rows[static_cast<std::size_t>(row)];
      // A reference: what was looked at is kept over the turns of the timer.
      std::size_t& next = searched_[place];
      while (next < store.size()) {
        const std::size_t last = std::min(store.size(), next + kFindsBetweenClockLooks);
        for (; next < last; ++next) {
          const Span span = model_->spanAt(lane.id, row, next);
          if (!query_.matches(*model_, span)) {
            continue;
          }
          // Counted to the end, so that the number is right, even where no more are kept.
          ++count_;
          if (kept_ < kKeptAtMost) {
            ++kept_;
            found_[place].push_back({store.startAt(next), span.id});
          }
        }
        if (clock.elapsed() >= kFindSliceMs) {
          timer_->start(0);
          if (count_ != before) {
            emit changed();
          }
          return;
        }
      }
    }
  }
  searching_ = false;
  emit changed();
}

const std::vector<SpanFinder::Match>* SpanFinder::matches(int lane, int row) const {
  const auto at = found_.find({lane, row});
  return at == found_.end() ? nullptr : &at->second;
}

std::optional<Span> SpanFinder::spanOf(Place place, const Match& match) const {
  // A match holds no index, since late spans move those of their row: it is found by time and id.
  Span wanted;
  wanted.id = match.id;
  wanted.lane = place.first;
  wanted.row = place.second;
  wanted.startNs = model_->toNs(match.startTicks);
  const auto index = model_->indexOf(wanted);
  return index ? std::optional(model_->spanAt(place.first, place.second, *index)) : std::nullopt;
}

std::optional<SpanFinder::Key> SpanFinder::keyOf(const Span& span) const {
  const auto index = model_->indexOf(span);
  const Lane* lane = model_->lane(span.lane);
  if (!index || lane == nullptr) {
    return std::nullopt;
  }
  return Key{lane->rows[static_cast<std::size_t>(span.row)].startAt(*index), span.lane, span.row,
             span.id};
}

std::optional<std::uint64_t> SpanFinder::numberOf(const Span& span) const {
  const auto wanted = model_ == nullptr ? std::nullopt : keyOf(span);
  if (!wanted) {
    return std::nullopt;
  }
  std::uint64_t before = 0;
  bool found = false;
  for (const auto& [place, matches] : found_) {
    const auto at = std::partition_point(
        matches.begin(), matches.end(), [&, &place = place](const Match& match) {
          return Key{match.startTicks, place.first, place.second, match.id} < *wanted;
        });
    before += static_cast<std::uint64_t>(at - matches.begin());
    found =
        found || (place == Place{span.lane, span.row} && at != matches.end() && at->id == span.id);
  }
  return found ? std::optional(before + 1) : std::nullopt;
}

std::optional<Span> SpanFinder::next(const std::optional<Span>& from, double ns,
                                     int direction) const {
  if (model_ == nullptr) {
    return std::nullopt;
  }
  // Before all places of the tick, unless it goes on from a span.
  const auto known = from ? keyOf(*from) : std::nullopt;
  const Key start = known.value_or(Key{model_->toTicks(ns), -1, -1, -1});
  const bool onward = direction > 0;
  std::optional<Key> best;
  std::optional<Key> around;  // the one at the other end
  const auto take = [onward](std::optional<Key>& kept, const Key& key) {
    if (!kept || (onward ? key < *kept : key > *kept)) {
      kept = key;
    }
  };
  for (const auto& [place, matches] : found_) {
    const auto keyOf = [&place = place](const Match& match) {
      return Key{match.startTicks, place.first, place.second, match.id};
    };
    const auto after = std::partition_point(
        matches.begin(), matches.end(),
        [&](const Match& match) { return onward ? keyOf(match) <= start : keyOf(match) < start; });
    if (after != (onward ? matches.end() : matches.begin())) {
      take(best, keyOf(onward ? *after : *(after - 1)));
    }
    if (!matches.empty()) {
      take(around, keyOf(onward ? matches.front() : matches.back()));
    }
  }
  const std::optional<Key>& found = best ? best : around;
  return found ? spanOf({std::get<1>(*found), std::get<2>(*found)},
                        {std::get<0>(*found), std::get<3>(*found)})
               : std::nullopt;
}

}  // namespace lockstep::ui
