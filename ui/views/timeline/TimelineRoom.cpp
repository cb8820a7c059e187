#include "ui/views/timeline/TimelineRoom.h"

#include <algorithm>
#include <utility>

namespace lockstep::ui {
namespace {

constexpr std::size_t kStepsAround = 8;

/// Of a layout with lines, all but these.
double besideLines(const TimelineLayout& layout) {
  return layout.height() - (layout.lines().height() - timeline_metrics::kRankHeader);
}

}  // namespace

std::optional<TimeRange> stepsAround(const RunModel& model, const TimeRange& sight) {
  const std::size_t count = model.stepCount(0);
  if (sight.empty() || count == 0) {
    return std::nullopt;
  }
  const int id = laneId(0, LaneRole::kPhases);
  const run::SpanStore& steps = model.lane(id)->rows.front();
  const std::size_t first = steps.firstEndingAfter(model.toTicks(sight.startNs));
  // One that ends with the sight is the last of it.
  const std::size_t last =
      steps.firstEndingAfter(std::max<std::uint64_t>(model.toTicks(sight.endNs), 1) - 1);
  const TimeRange all = model.extent();
  return TimeRange{first > kStepsAround ? model.spanAt(id, 0, first - kStepsAround).startNs
                                        : std::min(all.startNs, sight.startNs),
                   last + kStepsAround < count ? model.spanAt(id, 0, last + kStepsAround).endNs()
                                               : std::max(all.endNs, sight.endNs)};
}

TimelineLayout fittedLayout(const RunModel& model, const std::set<int>& collapsed,
                            TimelineLayout::Options& options, double room) {
  TimelineLayout usual(model, collapsed, options);
  const auto fits = [room](const TimelineLayout& layout) {
    return room <= 0 || layout.height() <= room;
  };
  const bool lines = room > 0 && options.scale == 1 && !usual.lines().empty();
  if (lines && usual.ranks().empty()) {
    options.linesRoom = std::max(timeline_metrics::kLeastLinesRoom, room - besideLines(usual));
    return {model, collapsed, options};
  }
  if (fits(usual)) {
    return usual;
  }
  const Density before = options.density;
  const Density densest = options.scale == 1 ? Density::kThin : Density::kStrips;
  while (options.density < densest) {
    options.density = static_cast<Density>(static_cast<int>(options.density) + 1);
    TimelineLayout denser(model, collapsed, options);
    if (fits(denser)) {
      return denser;
    }
  }
  if (lines) {
    options.linesRoom = std::min(options.linesRoom, timeline_metrics::kLeastLinesRoom);
    TimelineLayout fewer(model, collapsed, options);
    if (fits(fewer)) {
      return fewer;
    }
  }
  options.density = std::max(before, Density::kStrips);
  return {model, collapsed, options};
}

}  // namespace lockstep::ui
