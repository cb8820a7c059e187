#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/canvas/TextMetrics.h"
#include "ui/views/buckets/BucketFacts.h"
#include "ui/views/buckets/BucketsScene.h"

// The order in which gradients became ready: a band for each rank, time to the right, the expected
// order downwards. What is in order falls from left to right; a line that rises is an inversion.
namespace lockstep::ui {
namespace {

using namespace buckets_metrics;

}  // namespace

void BucketsScene::drawOrder(DisplayList& list) const {
  const QRectF header = layout_.orderHeader();
  const QRectF area = layout_.orderArea();
  list.fill(header, palette_.surface);
  list.fill(QRectF(0, header.top(), header.width(), 1), palette_.gridStrong);
  const bool buckets = frame_.against == OrderAgainst::kBuckets;
  list.title(header.adjusted(8, 1, 0, 0), QStringLiteral("Gradient-ready order"), palette_);
  const double titleEnd = 8 + textWidth(QStringLiteral("Gradient-ready order"), FontRole::kBold);
  list.note(
      QRectF(titleEnd + 12, header.top() + 1,
             layout_.timesColumn().left() - layout_.rankGutter() - titleEnd - 16, header.height()),
      buckets ? QStringLiteral("downwards: the order of the buckets")
              : QStringLiteral("downwards: the registration, last one first"),
      palette_);
  double x = layout_.timesColumn().left() - layout_.rankGutter() + 8;
  const auto key = [&](const QString& text, auto mark) {
    const double width = textWidth(text, FontRole::kSmall);
    // An entry without room is left out; a shorter one after it may still fit.
    if (x + 18 + width < header.right()) {
      mark(QPointF(x + 5, header.center().y()));
      list.note(QRectF(x + 14, header.top(), width + 2, header.height()), text, palette_);
      x += 14 + width + 14;
    }
  };
  key(QStringLiteral("gradient ready"),
      [&](QPointF at) { list.fill(QRectF(at.x() - 3, at.y() - 3, 6, 6), palette_.bucket(0), 3); });
  key(buckets ? QStringLiteral("out of bucket order") : QStringLiteral("out of that order"),
      [&](QPointF at) {
        list.polygon({{at.x() - 5, at.y() + 4}, {at.x() + 5, at.y() + 4}, {at.x(), at.y() - 5}},
                     palette_.warning);
      });
  if (story_.rankCount() > 1) {
    key(QStringLiteral("another place than on the first rank"), [&](QPointF at) {
      list.line({at.x() - 5, at.y()}, {at.x() + 5, at.y()}, palette_.error, 2);
      list.line({at.x(), at.y() - 5}, {at.x(), at.y() + 5}, palette_.error, 2);
    });
  }
  key(QStringLiteral("no gradient: unused"), [&](QPointF at) {
    list.outline(QRectF(at.x() - 4, at.y() - 4, 8, 8), palette_.textMuted, 4);
  });
  list.clip(area);
  for (int rank = 0; rank < story_.rankCount(); ++rank) {
    const QRectF band = layout_.band(rank);
    if (band.bottom() >= area.top() && band.top() <= area.bottom()) {
      drawBand(list, rank);
    }
  }
  const QRectF column = layout_.timesColumn();
  list.clip(QRectF(column.left() - 8, area.top(), column.width() + 16, area.height()));
  // Crossings under the dots, so that dots can be pointed at.
  drawRankCrossings(list);
  for (int rank = 0; rank < story_.rankCount(); ++rank) {
    const QRectF band = layout_.band(rank);
    if (band.bottom() >= area.top() && band.top() <= area.bottom()) {
      drawDots(list, rank);
    }
  }
  list.unclip();
  list.unclip();
  drawScroll(list, area, frame_.orderScroll, layout_.maximumOrderScroll());
}

void BucketsScene::drawBand(DisplayList& list, int rank) const {
  const QRectF band = layout_.band(rank);
  const double left = layout_.timesColumn().left() - layout_.rankGutter();
  list.fill(QRectF(0, band.top(), band.width(), 1), palette_.grid);
  // The stretches that belong to the buckets.
  const QRectF inside = band.adjusted(0, 6, 0, -6);
  const auto count = static_cast<double>(story_.bucketOf.size());
  double place = 0;
  double drawnY = -1;
  for (std::size_t b = 0;
       frame_.against == OrderAgainst::kBuckets && b < story_.layout.buckets.size(); ++b) {
    const auto size = static_cast<double>(story_.layout.buckets[b].parameters.size());
    const double top = inside.top() + place / count * inside.height();
    const double height = size / count * inside.height();
    place += size;
    // A thousand buckets in a band of 40 px: one a row of pixels is enough.
    if (height < 1 && std::floor(top) == drawnY) {
      continue;  // its row of pixels has a bucket already
    }
    drawnY = std::floor(top);
    list.fill(QRectF(left + 1, top, band.width() - left - 1, height),
              withAlpha(bucketColour(static_cast<int>(b)),
                    static_cast<int>(b) == frame_.selectedBucket ? 0.26f : 0.10f));
    list.fill(QRectF(left + 2, top + 0.5, 4, std::max(1.0, height - 1)),
              bucketColour(static_cast<int>(b)));
    if (height >= 11) {
      list.note(QRectF(left + 9, top, 20, height), QString::number(b), palette_);
    }
  }
  drawBandLabel(list, rank);
}

void BucketsScene::drawBandLabel(DisplayList& list, int rank) const {
  const QRectF band = layout_.band(rank);
  const analysis::ReadyOrder& order = story_.orders[static_cast<std::size_t>(rank)];
  const double width = layout_.timesColumn().left() - layout_.rankGutter() - 30;
  list.fill(QRectF(9, band.top() + 8, 10, 10), palette_.rank(order.rank), 5);
  const QString name = QStringLiteral("rank %1").arg(order.rank);
  list.title(QRectF(25, band.top() + 3, width, 19), name, palette_);
  const bool buckets = frame_.against == OrderAgainst::kBuckets;
  const std::uint32_t out = buckets ? order.againstBuckets : order.againstRegistration;
  const QString first =
      (out > 0 ? QStringLiteral("▲ ") : QString()) + orderSentence(story_, rank, frame_.against);
  QString second = rankSentence(story_, rank);
  if (order.againstFirstRank > 0) {
    second.prepend(QStringLiteral("✚ "));
  }
  const QColor firstInk = out > 0 ? palette_.warning : palette_.textMuted;
  const QColor secondInk = order.againstFirstRank > 0 ? palette_.error : palette_.textMuted;
  if (band.height() >= 54) {
    list.text(QRectF(25, band.top() + 21, width, 15), first, firstInk, FontRole::kSmall);
    list.text(QRectF(25, band.top() + 35, width, 15), second, secondInk, FontRole::kSmall);
    const double top = band.top() + (second.isEmpty() ? 39 : 53);
    const int lines = static_cast<int>((band.bottom() - top - 4) / 15);
    const QStringList waits = longestWaits(story_, rank, std::max(0, std::min(lines, 8)));
    for (int i = 0; i < waits.size(); ++i) {
      list.label(QRectF(25, top + 15 * i, width, 15), waits[i], palette_);
    }
  } else {
    // One line beside the name; the second below it where there is room.
    const double x = 25 + textWidth(name, FontRole::kBold) + 12;
    list.text(QRectF(x, band.top() + 4, width - x + 25, 17), first, firstInk, FontRole::kSmall);
    if (band.height() >= 34) {
      list.text(QRectF(x, band.top() + 18, width - x + 25, 15), second, secondInk,
                FontRole::kSmall);
    }
  }
}

void BucketsScene::drawDots(DisplayList& list, int rank) const {
  const analysis::ReadyOrder& order = story_.orders[static_cast<std::size_t>(rank)];
  const bool buckets = frame_.against == OrderAgainst::kBuckets;
  const std::uint64_t now = nowTicks();
  std::optional<QPointF> previous;
  std::pair<bool, bool> previousLook;
  for (const analysis::ReadyGradient& gradient : order.gradients) {
    const auto at = layout_.dot(rank, gradient.parameter, frame_.against);
    if (!at) {
      continue;
    }
    const bool out = buckets ? gradient.againstBuckets : gradient.againstRegistration;
    const bool past = gradient.ticks <= now;
    const bool selected = static_cast<int>(gradient.parameter) == frame_.selectedParameter;
    const bool pointed = static_cast<int>(gradient.parameter) == frame_.hovered.parameter;
    const auto look = std::pair(out, gradient.againstFirstRank);
    // Marks of one look on top of each other are drawn once.
    if (!selected && !pointed && previous && look == previousLook &&
        std::abs(previous->x() - at->x()) < 0.8 && std::abs(previous->y() - at->y()) < 0.8) {
      continue;
    }
    previousLook = look;
    // Lines join what followed each other: one that rises is an inversion.
    if (previous) {
      list.line(*previous, *at,
                !past ? withAlpha(palette_.textMuted, 0.15f)
                : out ? palette_.warning
                      : withAlpha(palette_.textMuted, 0.55f),
                out ? 1.6 : 1);
    }
    previous = at;
    QColor colour = gradient.bucket == trace::kNoBucket ? palette_.tone(Tone::kNeutral)
                                                        : bucketColour(gradient.bucket);
    colour = past ? colour : withAlpha(colour, 0.25f);
    const double radius = selected || pointed ? 4.5 : 3;
    const QRectF dot(at->x() - radius, at->y() - radius, 2 * radius, 2 * radius);
    if (gradient.unused) {
      list.outline(dot.adjusted(-1, -1, 1, 1), colour, radius + 1);
    } else if (out) {
      list.polygon({{at->x() - 5, at->y() + 4}, {at->x() + 5, at->y() + 4}, {at->x(), at->y() - 5}},
                   past ? palette_.warning : withAlpha(palette_.warning, 0.3f));
    } else {
      list.fill(dot, colour, radius);
    }
    if (gradient.againstFirstRank && past) {
      list.line({at->x() - 6, at->y()}, {at->x() + 6, at->y()}, palette_.error, 1.6);
      list.line({at->x(), at->y() - 6}, {at->x(), at->y() + 6}, palette_.error, 1.6);
    }
    if (selected || pointed) {
      list.outline(dot.adjusted(-2, -2, 2, 2), selected ? palette_.accent : palette_.hover,
                   radius + 2);
    }
  }
}

// Joins the dots of one parameter on neighbouring ranks where their orders differ, and those of
// the parameter that is selected or pointed at.
void BucketsScene::drawRankCrossings(DisplayList& list) const {
  for (int rank = 1; rank < story_.rankCount(); ++rank) {
    for (const auto& gradient : story_.orders[static_cast<std::size_t>(rank)].gradients) {
      const int parameter = static_cast<int>(gradient.parameter);
      const bool chosen =
          parameter == frame_.selectedParameter || parameter == frame_.hovered.parameter;
      if (!gradient.againstFirstRank && !chosen) {
        continue;
      }
      const auto from = layout_.dot(rank - 1, gradient.parameter, frame_.against);
      const auto to = layout_.dot(rank, gradient.parameter, frame_.against);
      if (from && to) {
        list.line(*from, *to,
                  parameter == frame_.selectedParameter ? palette_.accent
                  : chosen                              ? palette_.hover
                                                        : withAlpha(palette_.error, 0.6f),
                  chosen ? 1.5 : 1);
      }
    }
  }
}

}  // namespace lockstep::ui
