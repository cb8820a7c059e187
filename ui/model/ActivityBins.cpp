#include "ui/model/ActivityBins.h"

#include <algorithm>
#include <cmath>

namespace lockstep::ui {
namespace {

// The longest bins: a thousand of them are years of ticks.
constexpr unsigned kLargestShift = 48;

}  // namespace

// Joins neighbours. Bins begin at multiples of their length, so that the first of them can always
// be moved to the left, down to tick 0.
// Joined in place, from the left: what bin i becomes stands at i or right of it.
void ActivityBins::halve() {
  const std::size_t odd = (origin_ >> shift_) & 1;  // bin 0 is the second of its pair
  for (std::size_t i = 0; i < kBins; ++i) {
    Bin sum;
    for (const std::size_t from : {2 * i - odd, 2 * i + 1 - odd}) {  // below 0 wraps far above
      if (from < used_) {
        for (std::size_t a = 0; a < kActivities; ++a) {
          sum.ticks[a] += bins_[from].ticks[a];
        }
        sum.lostEvents += bins_[from].lostEvents;
      }
    }
    bins_[i] = sum;
  }
  // A pair begins at a multiple of the new length, which may be one old bin further left.
  origin_ -= odd << shift_;
  ++shift_;
  used_ = (used_ + odd + 1) / 2;
}

bool ActivityBins::cover(std::uint64_t startTicks, std::uint64_t endTicks) {
  if (bins_.empty()) {
    bins_.resize(kBins);
    origin_ = startTicks >> shift_ << shift_;
  }
  // Times of a damaged file may be anything: a stretch that even the longest bins do not hold is
  // refused, before it makes all others vanish into one bin.
  const std::uint64_t first = std::min(origin_, startTicks);
  const std::uint64_t last = std::max(origin_ + (used_ << shift_), endTicks);
  if ((last - first) >> kLargestShift >= kBins / 2) {
    return false;
  }
  if (startTicks < origin_) {
    // What came late lies before all that is known: bins move to the right to let it in.
    while (true) {
      // By whole bins, rounded up.
      const std::uint64_t by = (origin_ - startTicks + width() - 1) >> shift_;
      if (by <= kBins && used_ + by <= kBins) {
        std::move_backward(bins_.begin(), bins_.begin() + static_cast<std::ptrdiff_t>(used_),
                           bins_.begin() + static_cast<std::ptrdiff_t>(used_ + by));
        std::fill_n(bins_.begin(), by, Bin{});
        used_ += used_ > 0 ? by : 0;
        origin_ -= by << shift_;
        break;
      }
      halve();
    }
  }
  while ((endTicks - origin_) >> shift_ >= kBins) {
    halve();
  }
  used_ = std::max<std::size_t>(used_, ((endTicks - origin_) >> shift_) + 1);
  return true;
}

void ActivityBins::add(Activity what, std::uint64_t startTicks, std::uint64_t durationTicks) {
  const std::uint64_t endTicks = startTicks + durationTicks;
  if (endTicks < startTicks || !cover(startTicks, endTicks)) {
    return;
  }
  const auto row = static_cast<std::size_t>(what);
  // Each bin that the span touches gets the ticks that lie in it.
  for (std::uint64_t from = startTicks; from < endTicks;) {
    const std::uint64_t bin = (from - origin_) >> shift_;
    const std::uint64_t to = std::min(endTicks, origin_ + ((bin + 1) << shift_));
    bins_[bin].ticks[row] += to - from;
    from = to;
  }
}

void ActivityBins::addLost(std::uint64_t startTicks, std::uint64_t durationTicks,
                           std::uint64_t events) {
  const std::uint64_t endTicks = startTicks + durationTicks;
  if (endTicks < startTicks || !cover(startTicks, endTicks)) {
    return;
  }
  const std::uint64_t first = (startTicks - origin_) >> shift_;
  const std::uint64_t last = (endTicks - origin_) >> shift_;
  // Spread over the stretch, so that all of it is marked; the rest goes to its first bin.
  const std::uint64_t each = events / (last - first + 1);
  bins_[first].lostEvents += events - each * (last - first);
  for (std::uint64_t bin = first + 1; bin <= last; ++bin) {
    bins_[bin].lostEvents += each;
  }
}

ActivityBins::Sums ActivityBins::between(double fromTicks, double toTicks) const {
  Sums sums;
  if (used_ == 0 || !(toTicks > fromTicks)) {
    return sums;
  }
  const double length = static_cast<double>(width());
  const double from = (fromTicks - static_cast<double>(origin_)) / length;
  const double to = (toTicks - static_cast<double>(origin_)) / length;
  const auto first = static_cast<std::size_t>(std::max(0.0, std::floor(from)));
  for (std::size_t i = first; i < used_ && static_cast<double>(i) < to; ++i) {
    // Of a bin that is cut by an edge the part that lies within, as if it were filled evenly.
    const double left = std::max(from, static_cast<double>(i));
    const double right = std::min(to, static_cast<double>(i + 1));
    const double part = std::max(0.0, right - left);
    for (std::size_t a = 0; a < kActivities; ++a) {
      sums.ticks[a] += part * static_cast<double>(bins_[i].ticks[a]);
    }
    sums.lostEvents += part * static_cast<double>(bins_[i].lostEvents);
  }
  return sums;
}

}  // namespace lockstep::ui
