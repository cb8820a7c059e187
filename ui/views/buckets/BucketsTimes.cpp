#include <algorithm>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/FlightBar.h"
#include "ui/chart/Legend.h"
#include "ui/views/buckets/BucketsScene.h"

// What became of each bucket on each rank, over the time of the iteration.
namespace lockstep::ui {
namespace {

using namespace buckets_metrics;

constexpr double kStripWithName = 8;  // px: lower ones have no room for "r0"

}  // namespace

void BucketsScene::drawStrip(DisplayList& list, int bucket, int rank) const {
  const analysis::BucketLife& life = story_.lives[static_cast<std::size_t>(bucket)];
  const analysis::BucketTimes& times = life.ranks[static_cast<std::size_t>(rank)];
  const QRectF strip = layout_.strip(bucket, rank);
  const TimeAxis& axis = layout_.axis();
  if (strip.height() >= kStripWithName) {
    list.text(QRectF(strip.left() - layout_.rankGutter() + 3, strip.top() - 3,
                     layout_.rankGutter() - 5, strip.height() + 6),
              QStringLiteral("r%1").arg(times.rank),
              times.rank == frame_.selectedRank && bucket == frame_.selectedBucket
                  ? palette_.accent
                  : palette_.textMuted,
              FontRole::kSmall);
  }
  const std::uint64_t now = nowTicks();
  // A stretch of the bar; what has not come yet in the replay is only hinted at.
  const auto piece = [&](const std::optional<std::uint64_t>& from,
                         const std::optional<std::uint64_t>& to, const Swatch& swatch) {
    if (!from || !to || *to <= *from) {
      return;
    }
    const double leftX = std::max(axis.toX(story_.ns(*from)), strip.left());
    const double endX = axis.toX(story_.ns(*to));
    // At least a pixel: an instant must be seen.
    const double rightX = std::min(std::max(endX, leftX + 1), strip.right());
    if (endX < strip.left() || rightX <= leftX) {
      return;
    }
    const QRectF whole(leftX, strip.top(), rightX - leftX, strip.height());
    QRectF past = whole;
    if (*to > now) {
      const double nowX = std::clamp(axis.toX(story_.ns(now)), leftX, rightX);
      past.setRight(*from > now ? leftX : nowX);
      const QColor& hint = swatch.hatch.isValid() ? swatch.hatch : swatch.colour;
      list.fill(whole, withAlpha(hint, 0.14f));
    }
    if (past.width() > 0) {
      drawSwatch(list, past, swatch, 0);
    }
  };
  const Swatch waiting = swatchOf(FlightPart::kWaiting, palette_);
  const Swatch transfer = swatchOf(FlightPart::kTransfer, palette_);
  // Where the mark of the bucket was lost, its last gradient tells nearly the same.
  const auto ready = times.readyTicks ? times.readyTicks : times.lastGradientTicks;
  piece(times.firstGradientTicks, ready,
        {mixed(bucketColour(bucket), palette_.background, 0.42), {}});
  if (times.stallTicks() > 0) {
    piece(times.readyTicks, times.launchedTicks, hatched(palette_.warning, palette_));
  }
  piece(times.launchedTicks, times.beganTicks, hatched(palette_.tone(Tone::kNeutral), palette_));
  // Until the last rank had come nothing could be transferred: that part is hatched as waiting.
  if (life.metTicks && times.beganTicks && times.endedTicks) {
    const auto met = std::min(*life.metTicks, *times.endedTicks);
    piece(times.beganTicks, met, waiting);
    piece(met, times.endedTicks, transfer);
  } else {
    piece(times.beganTicks, times.endedTicks, transfer);
  }
  piece(times.copyOutTicks, times.copiedOutTicks, {palette_.tone(Tone::kCopy), {}});
  drawExposed(list, bucket, rank);
  if (times.launchedTicks && *times.launchedTicks <= now) {
    const double x = axis.toX(story_.ns(*times.launchedTicks));
    if (x >= strip.left() && x <= strip.right()) {
      list.fill(QRectF(x - 0.75, strip.top() - 1, 1.5, strip.height() + 2), palette_.text);
    }
  }
  const bool pointed = frame_.hovered.kind == BucketsHit::Kind::kTimes &&
                       frame_.hovered.bucket == bucket && frame_.hovered.rank == rank;
  if (pointed) {
    list.outline(strip.adjusted(-1, -1, 1, 1), withAlpha(palette_.hover, 0.5f), 2);
  }
}

// Note [Where computing ends]
//
// On a rank the backward computes until its last gradient. What communicates after that has nothing
// left to hide behind. A mark in each of its bars says when that is; a line through all buckets,
// with words in the header, when the last rank is there.
void BucketsScene::drawComputed(DisplayList& list) const {
  const QRectF column = layout_.timesColumn();
  const QColor colour = palette_.tone(Tone::kBackward);
  for (int rank = 0; rank < story_.rankCount(); ++rank) {
    const auto x = xOfComputed(rank);
    for (int bucket = 0; x && bucket < static_cast<int>(story_.lives.size()); ++bucket) {
      const QRectF strip = layout_.strip(bucket, rank);
      if (strip.bottom() >= column.top() && strip.top() <= column.bottom()) {
        list.fill(QRectF(*x - 1, strip.top() - 2, 2, strip.height() + 4), colour);
      }
    }
  }
  if (const auto x = xOfComputed(story_.lastToCompute())) {
    list.fill(QRectF(*x - 0.5, column.top(), 1, column.height()), colour);
  }
}

std::optional<double> BucketsScene::xOfComputed(int rank) const {
  const QRectF column = layout_.timesColumn();
  const auto ticks = rank < 0 ? std::nullopt : story_.computedOn(rank);
  const double x = ticks ? layout_.axis().toX(story_.ns(*ticks)) : -1;
  return x >= column.left() && x <= column.right() ? std::optional(x) : std::nullopt;
}

// Where the fewest times of the axis are hidden: of places and words that hide as many, all words
// before few, and under its line before a side of it.
BucketsScene::Plate BucketsScene::computedPlate(const std::vector<AxisWords>& axis) const {
  constexpr double kHigh = 15;
  const int last = story_.lastToCompute();
  const auto x = xOfComputed(last);
  // During a replay its own words stand there.
  if (!x || frame_.replayNs) {
    return {};
  }
  const QRectF column = layout_.timesColumn();
  const QString least = QStringLiteral("computing ends");
  QStringList texts;
  if (story_.rankCount() > 1) {
    texts << QStringLiteral("%1, last on rank %2")
                 .arg(least)
                 .arg(story_.orders[static_cast<std::size_t>(last)].rank);
  }
  texts << least;
  std::vector<Plate> plates;
  for (const QString& text : texts) {
    const double width = textWidth(text, FontRole::kSmall) + 10;
    for (const double wanted : {*x - width / 2, *x - 1, *x - width + 1}) {
      const double left = std::max(column.left(), std::min(wanted, column.right() - width));
      plates.push_back({QRectF(left, kHeader - kHigh - 1, width, kHigh), text});
    }
  }
  return *std::ranges::min_element(plates, {}, [&](const Plate& plate) {
    return std::ranges::count_if(
        axis, [&](const AxisWords& words) { return words.rect.intersects(plate.rect); });
  });
}

// Of the replay's past: what is to come is hinted at without it.
void BucketsScene::drawExposed(DisplayList& list, int bucket, int rank) const {
  const QRectF strip = layout_.strip(bucket, rank);
  for (const analysis::Interval& part : story_.exposedOn(rank, bucket)) {
    const double left = std::max(layout_.axis().toX(story_.ns(part.begin)), strip.left());
    const double right =
        std::min(layout_.axis().toX(story_.ns(std::min(part.end, nowTicks()))), strip.right());
    if (right > left) {
      markExposed(list, QRectF(left, strip.top(), right - left, strip.height()), Qt::BottomEdge,
                  palette_);
    }
  }
}

// From the bucket that was waited for, at the moment it let the other go, down to that.
void BucketsScene::drawStalls(DisplayList& list) const {
  const QRectF column = layout_.timesColumn();
  for (std::size_t b = 0; b < story_.lives.size(); ++b) {
    for (std::size_t r = 0; r < story_.lives[b].ranks.size(); ++r) {
      const analysis::BucketTimes& times = story_.lives[b].ranks[r];
      // An arrow only once the launch has happened in the replay.
      if (times.stallTicks() == 0 || *times.launchedTicks > nowTicks()) {
        continue;
      }
      const double x = layout_.axis().toX(story_.ns(*times.launchedTicks));
      if (x < column.left() || x > column.right()) {
        continue;
      }
      const QRectF from = layout_.strip(*times.stalledBehind, static_cast<int>(r));
      const QRectF to = layout_.strip(static_cast<int>(b), static_cast<int>(r));
      if (to.top() < column.top() || from.bottom() > column.bottom()) {
        continue;
      }
      list.line({x, from.bottom()}, {x, to.top()}, palette_.warning, 1);
      list.polygon({{x - 4, to.top() - 5}, {x + 4, to.top() - 5}, {x, to.top()}}, palette_.warning);
    }
  }
}

std::vector<LegendEntry> BucketsScene::timesLegend() const {
  return {{{mixed(palette_.bucket(0), palette_.background, 0.42), {}}, QStringLiteral("fills")},
          {hatched(palette_.warning, palette_), QStringLiteral("stalled")},
          {hatched(palette_.tone(Tone::kNeutral), palette_), QStringLiteral("queued")},
          {swatchOf(FlightPart::kWaiting, palette_), QStringLiteral("waiting")},
          {swatchOf(FlightPart::kTransfer, palette_), QStringLiteral("transfer")},
          exposedEntry(palette_),
          {{palette_.tone(Tone::kCopy), {}}, QStringLiteral("copy out")}};
}

// What the bars mean; or why there are none.
void BucketsScene::drawTimesLegend(DisplayList& list, QRectF rect) const {
  if (!story_.launched()) {
    const QString text =
        !story_.finished ? QStringLiteral("no bucket was launched before it broke off")
        : story_.config && story_.config->syncEvery > 1
            ? QStringLiteral("gradients are accumulated (no_sync): no bucket is launched")
            : QStringLiteral("no bucket was launched");
    list.text(rect, text, palette_.warning, FontRole::kSmall);
    return;
  }
  ui::drawLegend(list, rect, timesLegend(), palette_);
}

}  // namespace lockstep::ui
