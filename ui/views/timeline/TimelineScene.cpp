#include "ui/views/timeline/TimelineScene.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/SpanStyle.h"

namespace lockstep::ui {
namespace {

using namespace timeline_metrics;
using trace::EventKind;

// How far outside the axis a bar is drawn: far enough that its edge is not seen.
constexpr double kOutside = 4;
constexpr double kTextRoom = 12;     // narrower bars carry no text
constexpr double kRoundedFrom = 8;   // px of width
constexpr std::size_t kFoldSamples = 8;

// A row of the model as the level of detail reads it.
struct LodRow {
  const SpanStore& store;
  const RunModel& model;

  [[nodiscard]] std::size_t size() const { return store.size(); }
  [[nodiscard]] double startNs(std::size_t i) const { return model.toNs(store.startAt(i)); }
  [[nodiscard]] double endNs(std::size_t i) const { return model.toNs(store.endAt(i)); }
  [[nodiscard]] std::size_t firstEndingAfter(double ns) const {
    return store.firstEndingAfter(model.toTicks(ns));
  }
};

QColor mixed(const QColor& a, const QColor& b, double part) {
  return QColor::fromRgbF(static_cast<float>(a.redF() * part + b.redF() * (1 - part)),
                          static_cast<float>(a.greenF() * part + b.greenF() * (1 - part)),
                          static_cast<float>(a.blueF() * part + b.blueF() * (1 - part)));
}

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
    : model_(model), layout_(layout), palette_(palette), frame_(std::move(frame)),
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
  drawRibbon(list);
  drawSelection(list);
  list.unclip();
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
  }
  drawGrid(list);
  list.clip(lanesArea());
  for (const auto& rank : layout_.ranks()) {
    for (const auto& lane : rank.lanes) {
      if (inSight(lane.top, lane.height)) {
        drawLane(list, lane);
      }
    }
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
  const SpanStore& store = lane.rows[static_cast<std::size_t>(row.row)];
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
    const Span span = model_.spanAt(lane.id, row.row, item.first);
    if (!item.folded()) {
      flush(item.left);
      if (isInstant(span.kind)) {
        mark = {span, item.left};
      } else {
        drawBar(list, span, barRect(item.left, item.right, row));
      }
      return;
    }
    // The fold takes the colour of the longest of a few of its spans.
    Span longest = span;
    const std::size_t stride = std::max<std::size_t>(1, item.count / kFoldSamples);
    for (std::size_t i = item.first; i < item.first + item.count; i += stride) {
      const Span sample = model_.spanAt(lane.id, row.row, i);
      if (sample.durationNs > longest.durationNs) {
        longest = sample;
      }
    }
    const QColor colour = colourOf(longest, frame_.colourBy, palette_);
    const bool instants = isInstant(longest.kind);
    if (span.kind == EventKind::kBucketReady && item.count == 2) {
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
  for (const auto& [from, to] : {std::pair(bar.left(), textLeft), std::pair(textRight, bar.right())}) {
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

void TimelineScene::drawBar(DisplayList& list, const Span& span, const QRectF& bar) const {
  if (span.kind == EventKind::kCollective && bar.width() > kFoldPixels) {
    drawCollective(list, span, bar);
    return;
  }
  const QColor fill = colourOf(span, frame_.colourBy, palette_);
  // A pixel between neighbours tells two bars from one.
  const QRectF body = bar.width() > kFoldPixels ? bar.adjusted(0, 0, -1, 0) : bar;
  list.fill(body, fill, body.width() > kRoundedFrom ? 2 : 0);
  if (span.kind == EventKind::kWait && body.width() > kFoldPixels) {
    list.hatch(body, mixed(fill, palette_.background, 0.55));
  }
  drawBarText(list, span, body, fill);
}

// A collective is first waiting for the last rank (hatched), then transfer (solid).
void TimelineScene::drawCollective(DisplayList& list, const Span& span, const QRectF& bar) const {
  const QColor fill = colourOf(span, frame_.colourBy, palette_);
  const QColor pale = mixed(fill, palette_.background, 0.3);
  const QRectF body = bar.adjusted(0, 0, -1, 0);
  const Arrivals arrivals = arrivalsOf(model_, span);
  const double arrivedX = arrivals.lateRank < 0 || arrivals.lastArrivalNs <= span.startNs
                              ? body.left()
                              : std::clamp(axis_.toX(arrivals.lastArrivalNs), body.left(),
                                           body.right());
  const double radius = body.width() > kRoundedFrom ? 2 : 0;
  if (arrivedX - body.left() < 1) {
    list.fill(body, fill, radius);
    drawBarText(list, span, body, fill);
    return;
  }
  const QRectF waiting(body.left(), body.top(), arrivedX - body.left(), body.height());
  const QRectF transfer(arrivedX, body.top(), body.right() - arrivedX, body.height());
  list.fill(body, pale, radius);
  list.hatch(waiting, mixed(fill, palette_.background, 0.75));
  list.fill(transfer, fill, transfer.width() > kRoundedFrom ? 2 : 0);
  const bool roomBehind = transfer.width() >= waiting.width() || transfer.width() > 90;
  if (roomBehind) {
    drawBarText(list, span, transfer, fill);
    return;
  }
  // Words on a hatch need a quiet ground.
  for (const QString& label : labelsOf(model_, span)) {
    const double width = textWidth(label, FontRole::kSmall) + 8;
    if (width + 8 <= waiting.width()) {
      const QRectF ground(waiting.left() + 3, waiting.top() + 2, width, waiting.height() - 4);
      list.fill(ground, pale, 2);
      list.text(ground, label, Palette::textOn(pale), FontRole::kSmall,
                Qt::AlignHCenter | Qt::AlignVCenter);
      return;
    }
  }
}

void TimelineScene::drawBarText(DisplayList& list, const Span& span, const QRectF& bar,
                                const QColor& fill) const {
  // The text stays with the part of the bar that can be seen.
  const double left = std::max(bar.left(), axis_.left()) + 3;
  const double right = std::min(bar.right(), axis_.right()) - 2;
  const double room = right - left;
  if (room < kTextRoom || bar.height() < 14) {
    return;
  }
  const FontRole font = bar.height() > 20 ? FontRole::kNormal : FontRole::kSmall;
  const QStringList labels = labelsOf(model_, span);
  QString label = labels.size() == 1 ? labels.front() : QString();
  double taken = 0;
  for (const QString& form : labels) {
    taken = textWidth(form, font);
    if (taken <= room) {
      label = form;
      break;
    }
  }
  if (label.isEmpty()) {
    return;
  }
  const QColor ink = Palette::textOn(fill);
  list.text(QRectF(left, bar.top(), room, bar.height()), label, ink, font);
  const QString duration = formatDuration(span.durationNs);
  if (taken + textWidth(duration, FontRole::kSmall) + 14 < room) {
    list.text(QRectF(left + taken + 8, bar.top(), room - taken - 8, bar.height()), duration,
              mixed(ink, fill, 0.75), FontRole::kSmall);
  }
}

void TimelineScene::drawMark(DisplayList& list, const Span& span, double x, const QRectF& row,
                             double roomRight) const {
  const QColor colour = colourOf(span, frame_.colourBy, palette_);
  const double bottom = row.bottom();
  switch (span.kind) {
    case EventKind::kBucketReady:
    case EventKind::kBucketLaunched: {
      // Ready: pointing down, open; launched: pointing to the right, full. In the colour of
      // the bucket in either case, since a bucket is what they are about.
      const QColor own = palette_.bucket(span.bucket);
      const double h = row.height() - 1;
      const bool launched = span.kind == EventKind::kBucketLaunched;
      if (launched) {
        list.polygon({{x, row.top()}, {x + h * 0.8, row.top() + h / 2}, {x, row.top() + h}}, own);
      } else {
        list.polygon({{x - h / 2, row.top()}, {x + h / 2, row.top()}, {x, row.top() + h}},
                     mixed(own, palette_.background, 0.6));
      }
      const QString text = QStringLiteral("b%1").arg(span.bucket);
      const double width = textWidth(text, FontRole::kSmall);
      if (launched && roomRight - x > width + h + 3) {
        list.text(QRectF(x + h, row.top() - 2, width + 2, row.height() + 3), text,
                  palette_.textMuted, FontRole::kSmall);
      }
      break;
    }
    case EventKind::kCollectiveQueued:
      list.polygon({{x - 3, row.top() + 1}, {x + 3, row.top() + 1}, {x, bottom}}, colour);
      break;
    default:
      list.fill(QRectF(x - 0.75, row.top() + row.height() * 0.15, 1.5, row.height() * 0.85),
                colour);
      break;
  }
}

void TimelineScene::drawGaps(DisplayList& list, const TimelineLayout::LaneBox& lane) const {
  const TimeRange visible{axis_.startNs(), axis_.endNs()};
  for (const GapSpan& gap : model_.gaps(lane.lane, visible)) {
    const double left = std::max(axis_.toX(gap.startNs), axis_.left() - kOutside);
    const double right = std::min(axis_.toX(gap.endNs), axis_.right() + kOutside);
    const QRectF rect(left, yOf(lane.top), std::max(right - left, 3.0), lane.height);
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
  if (isInstant(span.kind)) {
    return barRect(left - 3, left + 4, *row);
  }
  return barRect(left, axis_.toX(span.endNs()), *row);
}

}  // namespace lockstep::ui
