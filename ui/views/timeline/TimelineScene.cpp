#include "ui/views/timeline/TimelineScene.h"

#include <algorithm>
#include <cmath>

#include "engine/trace/Event.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/SpanStyle.h"

namespace lockstep::ui {
namespace {

using namespace timeline_metrics;
using trace::EventKind;

constexpr std::size_t kFoldSamples = 4;

// A row of the model as the level of detail reads it.
struct LodRow {
  const run::SpanStore& store;
  const RunModel& model;

  [[nodiscard]] std::size_t size() const { return store.size(); }
  [[nodiscard]] double startNs(std::size_t i) const { return model.toNs(store.startAt(i)); }
  [[nodiscard]] double endNs(std::size_t i) const { return model.toNs(store.endAt(i)); }
  [[nodiscard]] std::size_t firstEndingAfter(double ns) const {
    return store.firstEndingAfter(model.toTicks(ns));
  }
};

}  // namespace

// Neighbouring folds of one colour, drawn as one.
struct TimelineScene::Fold {
  std::size_t count = 0;
  double left = 0;
  double right = 0;
  QColor colour;
  bool instants = false;
};

TimelineScene::TimelineScene(const RunModel& model, const TimelineLayout& layout,
                             const Palette& palette, TimelineFrame frame)
    : model_(model),
      layout_(layout),
      palette_(palette),
      frame_(std::move(frame)),
      axis_(axisFor(frame_.size.width(), frame_.range)) {}

TimeAxis TimelineScene::axisFor(double width, TimeRange range) {
  return {range.startNs, range.endNs, kLabelWidth, width - kLabelWidth};
}

double TimelineScene::yOf(double layoutY) const {
  return std::round(kRulerHeight + layoutY - frame_.scrollY);
}

QRectF TimelineScene::lanesArea() const {
  return {kLabelWidth, kRulerHeight, frame_.size.width() - kLabelWidth,
          frame_.size.height() - kRulerHeight};
}

bool TimelineScene::inSight(double layoutTop, double height) const {
  const double top = yOf(layoutTop);
  return top < frame_.size.height() && top + height > kRulerHeight;
}

void TimelineScene::draw(DisplayList& list) {
  list.fill(QRectF(QPointF(0, 0), frame_.size), palette_.background);
  list.clip(lanesArea().adjusted(-kLabelWidth, 0, 0, 0));
  drawLanes(list);
  list.unclip();
  drawRuler(list);
  list.clip(lanesArea());
  drawRibbons(list);
  drawRibbon(list);
  drawSelection(list);
  list.unclip();
  drawFilter(list);
  drawFlags(list);
  drawMeasure(list);
  drawPointer(list);
  drawTooltip(list);
}

void TimelineScene::drawLanes(DisplayList& list) const {
  for (const auto& rank : layout_.ranks()) {
    bool shaded = false;
    for (const auto& lane : rank.lanes) {
      if (inSight(lane.top, lane.height)) {
        const QRectF band(kLabelWidth, yOf(lane.top), axis_.width(), lane.height);
        list.fill(band, shaded ? palette_.lane : palette_.background);
      }
      shaded = !shaded;
    }
    drawCounterBands(list, rank);
  }
  drawGrid(list);
  list.clip(lanesArea());
  drawWorld(list);
  for (const auto& rank : layout_.ranks()) {
    for (const auto& lane : rank.lanes) {
      if (inSight(lane.top, lane.height)) {
        drawLane(list, lane);
      }
    }
    drawCounters(list, rank);
  }
  list.unclip();
  drawLabels(list);
}

void TimelineScene::drawGrid(DisplayList& list) const {
  const QRectF area = lanesArea();
  const double bottom = std::min(area.bottom(), yOf(layout_.height() - kRankGap));
  for (const TimeAxis::Tick& tick : axis_.ticks(labelDistance())) {
    if (tick.major) {
      const double x = std::round(tick.x);
      list.fill(QRectF(x, area.top(), 1, bottom - area.top()), palette_.grid);
    }
  }
  if (const auto iterations = visibleIterations()) {
    for (std::uint32_t n = iterations->first; n <= iterations->last; n += iterations->stride) {
      if (const auto step = model_.step(iterations->rank, n)) {
        const double x = std::round(axis_.toX(step->startNs));
        if (x >= area.left()) {
          list.fill(QRectF(x, area.top(), 1, bottom - area.top()), palette_.gridStrong);
        }
      }
    }
  }
}

void TimelineScene::drawLane(DisplayList& list, const TimelineLayout::LaneBox& box) const {
  const Lane* lane = model_.lane(box.lane);
  if (lane == nullptr) {
    return;
  }
  for (const auto& row : box.rows) {
    if (inSight(row.top, row.height)) {
      drawRow(list, *lane, row);
      drawMatches(list, *lane, row);
    }
  }
  drawGaps(list, box);
}

QRectF TimelineScene::barRect(double leftX, double rightX, const TimelineLayout::Row& row) const {
  const double left = std::clamp(leftX, axis_.left() - kOutside, axis_.right() + kOutside);
  const double right = std::clamp(rightX, axis_.left() - kOutside, axis_.right() + kOutside);
  return {left, yOf(row.top), std::max(right - left, 1.0), row.height};
}

void TimelineScene::drawRow(DisplayList& list, const Lane& lane,
                            const TimelineLayout::Row& row) const {
  const run::SpanStore& store = lane.rows[static_cast<std::size_t>(row.row)];
  const LodRow lod{store, model_};
  const QRectF band(axis_.left(), yOf(row.top), axis_.width(), row.height);
  std::optional<Fold> pending;
  std::optional<std::pair<Span, double>> mark;  // waits to learn how much room it has
  const auto flush = [&](double nextLeft) {
    if (pending) {
      drawFold(list, *pending, band);
      pending.reset();
    }
    if (mark) {
      drawMark(list, mark->first, mark->second, band, nextLeft);
      mark.reset();
    }
  };
  forEachVisible(lod, axis_, [&](const LodItem& item) {
    if (!item.folded()) {
      const Span span = model_.spanAt(lane.id, row.row, item.first);
      flush(item.left);
      if (isInstant(span)) {
        mark = {span, item.left};
      } else {
        drawBar(list, span, barRect(item.left, item.right, row));
      }
      return;
    }
    // The fold takes the colour of the longest of a few of its spans.
    std::size_t longestIndex = item.first;
    std::uint64_t longestTicks = 0;
    const std::size_t stride = std::max<std::size_t>(1, item.count / kFoldSamples);
    for (std::size_t i = item.first; i < item.first + item.count; i += stride) {
      const std::uint64_t ticks = store.endAt(i) - store.startAt(i);
      if (ticks > longestTicks) {
        longestTicks = ticks;
        longestIndex = i;
      }
    }
    const Span longest = model_.spanAt(lane.id, row.row, longestIndex);
    const QColor colour = colourOf(longest, frame_.colourBy, palette_);
    const bool instants = isInstant(longest);
    if (item.count == 2 &&
        model_.spanAt(lane.id, row.row, item.first).kind == EventKind::kBucketReady) {
      // Ready and launched at once, the usual case: one mark.
      flush(item.left);
      mark = {model_.spanAt(lane.id, row.row, item.first + 1), item.left};
      return;
    }
    if (pending && pending->colour == colour && pending->instants == instants &&
        item.left - pending->right < kFoldPixels) {
      pending->right = item.right;
      pending->count += item.count;
      return;
    }
    flush(item.left);
    pending = Fold{item.count, item.left, item.right, colour, instants};
  });
  flush(axis_.right());
}

void TimelineScene::drawFold(DisplayList& list, const Fold& fold, const QRectF& row) const {
  QRectF bar(fold.left, row.top(), std::max(fold.right - fold.left, kFoldPixels), row.height());
  bar = bar.intersected(row.adjusted(-kOutside, 0, kOutside, 0));
  if (fold.instants) {
    // Marks stand on the row's lower edge; so do many of them.
    bar.setTop(bar.top() + row.height() * 0.35);
    list.fill(bar, mixed(fold.colour, palette_.background, 0.85));
    return;
  }
  const QColor fill = mixed(fold.colour, palette_.background, 0.7);
  list.fill(bar, fill);
  constexpr double kZigzag = 4;
  if (bar.width() < 4 * kZigzag) {
    return;
  }
  const QString text = formatCount(fold.count) + QStringLiteral(" spans");
  const double width = textWidth(text, FontRole::kSmall) + 12;
  const bool withText = row.height() >= 14 && bar.width() > width + 12;
  if (withText) {
    list.text(bar, text, Palette::textOn(fill), FontRole::kSmall,
              Qt::AlignHCenter | Qt::AlignVCenter);
  }
  const double middle = bar.center().y();
  const QColor line = mixed(Palette::textOn(fill), fill, 0.35);
  const double textLeft = withText ? bar.center().x() - width / 2 : bar.right();
  const double textRight = withText ? bar.center().x() + width / 2 : bar.right();
  for (const auto& [from, to] :
       {std::pair(bar.left(), textLeft), std::pair(textRight, bar.right())}) {
    std::vector<QPointF> zigzag;
    bool up = false;
    for (double x = from + kZigzag / 2; x < to; x += kZigzag, up = !up) {
      zigzag.emplace_back(x, up ? middle - 2 : middle + 2);
    }
    if (zigzag.size() > 1) {
      list.polyline(zigzag, line);
    }
  }
}

void TimelineScene::drawGaps(DisplayList& list, const TimelineLayout::LaneBox& lane) const {
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
    const QRectF rect(gap.left, yOf(lane.top), gap.right - gap.left, lane.height);
    QColor ground = palette_.background;
    ground.setAlphaF(0.8f);
    list.fill(rect, ground);
    QColor lines = palette_.warning;
    lines.setAlphaF(0.6f);
    list.hatch(rect, lines);
    const QString text = formatCount(gap.lost) + QStringLiteral(" events lost");
    const double width = textWidth(text, FontRole::kBold) + 12;
    if (rect.width() > width + 8) {
      const QRectF plate(rect.center().x() - width / 2, rect.center().y() - 9, width, 18);
      list.fill(plate, palette_.background, 3);
      list.text(plate, text, palette_.warning, FontRole::kBold,
                Qt::AlignHCenter | Qt::AlignVCenter);
    }
  }
}

std::optional<QRectF> TimelineScene::rectOf(const Span& span) const {
  const auto row = layout_.find(span.lane, span.row);
  if (!row || span.endNs() < axis_.startNs() || span.startNs > axis_.endNs()) {
    return std::nullopt;
  }
  const double left = axis_.toX(span.startNs);
  if (isInstant(span)) {
    return barRect(left - 3, left + 4, *row);
  }
  return barRect(left, axis_.toX(span.endNs()), *row);
}

}  // namespace lockstep::ui
