#include "ui/views/timeline/layers/LanesLayer.h"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>
#include <vector>

#include "engine/trace/Event.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Plate.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/LevelOfDetail.h"
#include "ui/views/timeline/LodRow.h"
#include "ui/views/timeline/SpanStyle.h"
#include "ui/views/timeline/layers/SpanBars.h"

namespace lockstep::ui {
namespace {

using namespace timeline_metrics;
using trace::EventKind;

}  // namespace

std::optional<Span> LanesLayer::spanAt(const TimelineSight& sight, QPointF position) {
  const double y = sight.layoutY(position);
  const TimelineLayout::LaneBox* lane = sight.layout.laneAt(y);
  if (lane == nullptr) {
    return std::nullopt;
  }
  for (const TimelineLayout::Row& row : lane->rows | std::views::reverse) {
    const bool there = y >= row.top && y < row.top + row.height;
    const auto span = !there ? std::nullopt
                             : sight.model.findSpan(lane->lane, row.row,
                                                    sight.axis.toNs(position.x()),
                                                    sight.axis.nsPerPixel() * kPointerSlack);
    if (span) {
      return span;
    }
  }
  return std::nullopt;
}

void LanesLayer::draw(DisplayList& list) const {
  list.clip(sight_.lanesArea());
  for (const auto& rank : sight_.ranksInSight()) {
    for (const auto& lane : rank.lanes) {
      if (sight_.inSight(lane.top, lane.height)) {
        drawLane(list, lane);
      }
    }
  }
  list.unclip();
}

void LanesLayer::drawLane(DisplayList& list, const TimelineLayout::LaneBox& box) const {
  const Lane* lane = model_.lane(box.lane);
  if (lane == nullptr) {
    return;
  }
  for (const auto& row : box.rows) {
    if (sight_.inSight(row.top, row.height)) {
      drawRow(list, *lane, row);
      drawMatches(list, *lane, row);
    }
  }
  drawGaps(list, box);
}

// Note [From spans to rectangles]
//
// A row may have millions of spans in sight and has a thousand pixels. forEachVisible
// (LevelOfDetail.h) hands out spans and folds of several, from left to right, with no more than one
// or two in 3 px:
//
//   zoomed out   ▓▓▓▓▓▓▓▓▓ ▓▓▓▓▓▓▓    folds; neighbours that touch and look alike become one
//   closer       ▓▓▓ [██] ▓▓▓ [█]     bars where there is room, folds in between
//   close        [forward ][backward  ▼ ▷ ]
//
// Three things cannot be drawn before the next item is known: a fold, which may go on in it, a
// mark, and the words beside a bar that is too short for them: both need to know how much room
// there is. They wait in `pending`, `mark` and `untold`, and `flush` draws them. The cost of a row
// is that of its items, each a binary search and a few reads: pixels and not spans.
void LanesLayer::drawRow(DisplayList& list, const Lane& lane,
                         const TimelineLayout::Row& row) const {
  const LodRow lod{model_, lane, row.row};
  const SpanBars bars(sight_, palette_);
  const QRectF band(axis_.left(), sight_.yOf(row.top), axis_.width(), row.height);
  std::optional<SpanFold> pending;
  std::optional<std::pair<Span, double>> mark;  // waits to learn how much room it has
  std::optional<std::pair<Span, QRectF>> untold;
  const auto flush = [&](double nextLeft) {
    if (untold && !row.shared) {
      bars.drawBeside(list, untold->first, untold->second, nextLeft);
      untold.reset();
    }
    if (pending) {
      bars.drawFold(list, *pending, band);
      pending.reset();
    }
    if (mark) {
      bars.drawMark(list, mark->first, mark->second, band, nextLeft);
      mark.reset();
    }
  };
  forEachVisible(lod, axis_, [&](const LodItem& item) {
    const Span first = lod.spanAt(item.first);
    if (!item.folded()) {
      flush(item.left);
      if (isInstant(first)) {
        mark = {first, item.left};
      } else {
        const QRectF bar = sight_.barRect(item.left, item.right, row);
        if (!bars.drawBar(list, first, bar)) {
          untold = {first, bar};
        }
      }
      return;
    }
    if (item.count == 2 && first.kind == EventKind::kBucketReady) {
      // Ready and launched at once, the usual case: one mark.
      flush(item.left);
      mark = {lod.spanAt(item.first + 1), item.left};
      return;
    }
    const Span longest = lod.longestOf(item);
    // By quarters, so that neighbours that look alike become one.
    const double share = std::ceil(longest.part() * 4) / 4;
    const QColor colour =
        mixed(colourOf(longest, frame_.colourBy, palette_), palette_.background, share);
    const bool instants = isInstant(longest);
    if (pending && pending->colour == colour && pending->instants == instants &&
        item.left - pending->right < kFoldPixels) {
      pending->right = item.right;
      pending->count += item.count;
      return;
    }
    flush(item.left);
    pending = SpanFold{item.count, item.left, item.right, colour, instants};
  });
  flush(axis_.right());
}

// A tick above each span that is searched for; those in one pixel share it.
void LanesLayer::drawMatches(DisplayList& list, const Lane& lane,
                             const TimelineLayout::Row& row) const {
  const std::vector<SpanFinder::Match>* matches =
      frame_.found == nullptr ? nullptr : frame_.found->matches(lane.id, row.row);
  if (matches == nullptr) {
    return;
  }
  const auto firstFrom = [&](double ns) {
    return std::ranges::lower_bound(*matches, model_.toTicks(ns), {},
                                    &SpanFinder::Match::startTicks);
  };
  constexpr double kTick = 3;
  for (auto match = firstFrom(axis_.startNs()); match != matches->end();) {
    const double x = axis_.toX(model_.toNs(match->startTicks));
    if (x > axis_.right()) {
      break;
    }
    list.fill(QRectF(std::round(x), sight_.yOf(row.top) - 1, kTick, kTick), palette_.measure);
    match = std::max(firstFrom(axis_.toNs(x + kTick)), match + 1);
  }
}

void LanesLayer::drawGaps(DisplayList& list, const TimelineLayout::LaneBox& lane) const {
  struct Stretch {
    double left = 0;
    double right = 0;
    std::uint64_t lost = 0;
  };
  const TimeRange visible{axis_.startNs(), axis_.endNs()};
  std::vector<Stretch> stretches;
  for (const GapSpan& gap : model_.gaps(lane.lane, visible, axis_.nsPerPixel())) {
    const double left = std::max(axis_.toX(gap.startNs), axis_.left() - kOutside);
    const double right =
        std::max(std::min(axis_.toX(gap.endNs), axis_.right() + kOutside), left + kFoldPixels);
    // Many small ones side by side are one, with the sum.
    if (!stretches.empty() && left <= stretches.back().right + 1 && left >= stretches.back().left) {
      stretches.back().right = std::max(stretches.back().right, right);
      stretches.back().lost += gap.lost;
    } else {
      stretches.push_back({left, right, gap.lost});
    }
  }
  for (const Stretch& gap : stretches) {
    const QRectF rect(gap.left, sight_.yOf(lane.top), gap.right - gap.left, lane.height);
    list.fill(rect, withAlpha(palette_.background, 0.8f));
    list.hatch(rect, withAlpha(palette_.warning, 0.6f));
    const QString text = formatCount(gap.lost) + QStringLiteral(" events lost");
    const double width = textWidth(text, FontRole::kBold) + 12;
    if (rect.width() > width + 8) {
      const QRectF plate(rect.center().x() - width / 2, rect.center().y() - 9, width, 18);
      drawPlate(list, plate, text, palette_.background,
                {.font = FontRole::kBold, .ink = palette_.warning});
    }
  }
}

}  // namespace lockstep::ui
