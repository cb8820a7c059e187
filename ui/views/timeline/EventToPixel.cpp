#include "ui/views/timeline/EventToPixel.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/Clock.h"

namespace lockstep::ui {
namespace {

constexpr std::size_t kUnpaintedAtMost = 1u << 18;  // more, while nothing is painted, says no more

}  // namespace

void EventToPixel::watch() {
  watchedSince_ = base::ticks();
}

void EventToPixel::watchAnew() {
  if (watchedSince_) {
    watch();
  }
}

void EventToPixel::stopWatching() {
  watchedSince_.reset();
  unpainted_.clear();
}

void EventToPixel::clear() {
  unpainted_.clear();
  latency_.clear();
}

void EventToPixel::arrived(const std::vector<std::uint64_t>& endTicks) {
  if (watchedSince_ && unpainted_.size() + endTicks.size() <= kUnpaintedAtMost) {
    std::copy_if(endTicks.begin(), endTicks.end(), std::back_inserter(unpainted_),
                 [this](std::uint64_t ticks) { return ticks >= *watchedSince_; });
  }
}

void EventToPixel::painted(const RunModel& model, TimeRange shown, bool follows) {
  if (unpainted_.empty()) {
    return;
  }
  const std::uint64_t now = base::ticks();
  std::vector<std::uint64_t> ahead;
  for (const std::uint64_t ticks : unpainted_) {
    const double ns = model.toNs(ticks);
    // A followed run may have moved past what came late: that counts all the more.
    const bool inSight = (ns >= shown.startNs || follows) && ns <= shown.endNs;
    if (inSight && ticks <= now) {
      latency_.add(static_cast<double>(now - ticks) * model.nsPerTick() / 1e6);
    } else if (ns > shown.endNs && follows) {
      ahead.push_back(ticks);  // this frame came before the range followed; the next shows it
    }
  }
  unpainted_ = std::move(ahead);
}

}  // namespace lockstep::ui
