#include "ui/chart/TimeAxis.h"

#include <algorithm>
#include <cmath>

#include "ui/chart/Ticks.h"

namespace lockstep::ui {
namespace {

// How much empty time may be shown around all there is.
constexpr double kSlack = 1.2;
// How much of the content stays in sight, as a part of the axis.
constexpr double kInSight = 0.1;

}  // namespace

TimeAxis::TimeAxis(double startNs, double endNs, double left, double width)
    : startNs_(startNs),
      endNs_(std::max(endNs, startNs + kMinimumNs)),
      left_(left),
      width_(std::max(width, 1.0)) {}

TimeAxis TimeAxis::zoomed(double factor, double x) const {
  const double fixedNs = toNs(x);
  const double length = std::max(lengthNs() * factor, kMinimumNs);
  const double part = (x - left_) / width_;
  const double start = fixedNs - part * length;
  return {start, start + length, left_, width_};
}

TimeAxis TimeAxis::zoomedAbout(double factor, const std::optional<QPointF>& pointer) const {
  const bool over = pointer && pointer->x() >= left() && pointer->x() <= right();
  return zoomed(factor, over ? pointer->x() : (left() + right()) / 2);
}

TimeAxis TimeAxis::panned(double pixels) const {
  const double delta = pixels * nsPerPixel();
  return {startNs_ + delta, endNs_ + delta, left_, width_};
}

TimeAxis TimeAxis::clamped(double firstNs, double lastNs) const {
  const double content = std::max(lastNs - firstNs, kMinimumNs);
  double length = lengthNs();
  double start = startNs_;
  // Zoomed out too far: the content in the middle, a tenth of empty time at either side.
  if (length > content * kSlack) {
    length = content * kSlack;
    start = (firstNs + lastNs - length) / 2;
  }
  // Moved too far: a tenth of the axis still shows content, or all content where that is shorter.
  const double inSight = std::min(length * kInSight, content);
  start = std::clamp(start, firstNs + inSight - length, lastNs - inSight);
  return {start, start + length, left_, width_};
}

double TimeAxis::labelStepNs(double minimumPixels) const {
  return std::max(roundStep(nsPerPixel() * minimumPixels), 1.0);
}

std::vector<TimeAxis::Tick> TimeAxis::ticks(double minimumPixels) const {
  const double step = labelStepNs(minimumPixels);
  const double leading = step / std::pow(10.0, std::floor(std::log10(step) + 1e-9));
  // 5 minor lines a label at 1 and 5, and 4 at 2, so that minor steps are round too: 0.2, 0.5 and
  // 1.
  const int parts = std::lround(leading) == 2 ? 4 : 5;
  const double minor = step / parts;
  std::vector<Tick> ticks;
  const auto first = static_cast<long long>(std::ceil(startNs_ / minor - 1e-9));
  const auto last = static_cast<long long>(std::floor(endNs_ / minor + 1e-9));
  for (long long i = first; i <= last; ++i) {
    const double ns = static_cast<double>(i) * minor;
    ticks.push_back({ns, toX(ns), i % parts == 0});
  }
  return ticks;
}

}  // namespace lockstep::ui
