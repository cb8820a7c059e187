#include <algorithm>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/FlightBar.h"
#include "ui/chart/Plot.h"
#include "ui/views/hooks/HookCharts.h"
#include "ui/views/hooks/HookWords.h"
#include "ui/views/hooks/HooksScene.h"

// The card with a row for each bucket.
namespace lockstep::ui {
namespace {

using namespace hook_words;
using analysis::HookPhase;

constexpr double kBytesText = 178;

Swatch swatchOf(HookPhase phase, const Palette& palette) {
  return phase == HookPhase::kWaiting    ? ui::swatchOf(FlightPart::kWaiting, palette)
         : phase == HookPhase::kTransfer ? ui::swatchOf(FlightPart::kTransfer, palette)
                                         : Swatch{phaseColour(palette, phase), {}};
}

}  // namespace

void HooksScene::drawPhases(DisplayList& list) const {
  drawTile(list, phases_, palette_);
  const double left = phases_.left() + 10;
  QString title = tr("Time per bucket and step");
  const double titleWidth = textWidth(title, FontRole::kBold) + 8;
  list.title(QRectF(left, phases_.top() + 6, titleWidth, kLine), title, palette_);
  const analysis::HookCalls& calls = content_.sides.front().run->calls;
  QString measured = content_.rank ? tr("the median call of rank %1").arg(*content_.rank)
                                   : tr("the median call of all ranks");
  measured +=
      tr(" from step %1 on, its colours the phases' shares of the time; the line ends at P90")
          .arg(calls.warmUp().firstMeasured);
  if (calls.incompleteSteps() > 0) {
    measured += tr("; %1 steps left out, since events were dropped").arg(calls.incompleteSteps());
  }
  list.note(QRectF(left + titleWidth + 8, phases_.top() + 6,
                   phases_.right() - left - titleWidth - 18, kLine),
            measured, palette_);
  drawLegend(list);
  if (rows_.empty()) {
    list.text(phases_.adjusted(10, 50, -10, -10),
              tr("No phase of a hook was recorded in the measured steps"), palette_.textMuted,
              FontRole::kNormal, Qt::AlignCenter);
    return;
  }
  drawAxis(list);
  // Only rows in sight: a model may have hundreds of buckets.
  for (const Row& row : rows_) {
    if (row.rect.bottom() >= 0 && row.rect.top() <= frame_.size.height()) {
      drawRow(list, row);
    }
  }
}

void HooksScene::drawLegend(DisplayList& list) const {
  const double top = phases_.top() + 30;
  std::vector<LegendEntry> entries;
  for (const HookPhase phase : {HookPhase::kEncode, HookPhase::kQueued, HookPhase::kWaiting,
                                HookPhase::kTransfer, HookPhase::kDecode}) {
    entries.push_back({swatchOf(phase, palette_), phaseTitle(phase)});
  }
  double x = phases_.left() + 10;
  x += ui::drawLegend(list, QRectF(x, top, phases_.right() - x, kLine), entries, palette_);
  if (content_.compares()) {
    for (std::size_t side = 0; side < content_.sides.size(); ++side) {
      const HookRun& run = *content_.sides[side].run;
      const QString text =
          sideName(side) + QStringLiteral("  ") + run.hook + QStringLiteral(", ") + run.run;
      // Names are cut rather than reach into the column of bytes.
      const double width =
          std::min(textWidth(text, FontRole::kSmall) + 4, std::max(0.0, bytesLeft_ - x - 19));
      list.fill(QRectF(x, top + 3, 3, 12), sideColour(palette_, side));
      list.label(QRectF(x + 7, top, width, kLine), text, palette_);
      x += width + 22;
    }
  }
  if (bytesLeft_ < phases_.right() - 20) {
    list.note(QRectF(bytesLeft_, top, phases_.right() - 10 - bytesLeft_, kLine),
              tr("Bytes: gradients (outlined), collectives (solid)"), palette_);
  }
}

void HooksScene::drawAxis(DisplayList& list) const {
  const double top = rows_.front().rect.top();
  const double bottom = rows_.back().rect.bottom();
  drawAxisBelow(
      list, QRectF(QPointF(barsLeft_, top), QPointF(barsRight_, bottom)),
      {0, maxMs_, barsLeft_, barsRight_}, 90,
      [&](double ms, double step) {
        return ms == 0 ? QStringLiteral("0")
                       : formatTime(ms * kNsPerMs, step * kNsPerMs, maxMs_ * kNsPerMs);
      },
      palette_, true);
}

void HooksScene::drawRow(DisplayList& list, const Row& row) const {
  const bool picked = frame_.picked && frame_.picked->bucket == row.bucket;
  if (picked || (frame_.hovered && frame_.hovered->bucket == row.bucket)) {
    list.fill(row.rect.adjusted(1, 0, -1, 0),
              mixed(palette_.accent, palette_.surface, picked ? 0.12 : 0.06));
  }
  if (picked) {
    list.fill(QRectF(row.rect.left() + 1, row.rect.top(), 3, row.rect.height()), palette_.accent);
  }
  list.text(
      QRectF(row.rect.left() + 10, row.rect.top(),
             barsLeft_ - row.rect.left() - (content_.compares() ? 34 : 14), row.rect.height()),
      bucketTitle(row.bucket), palette_.text);
  for (std::size_t side = 0; side < content_.sides.size(); ++side) {
    drawSide(list, row, side);
  }
}

void HooksScene::drawSide(DisplayList& list, const Row& row, std::size_t side) const {
  const double top = row.rect.top() + kRowPad + static_cast<double>(side) * (kBar + 2);
  if (content_.compares()) {
    list.note(QRectF(barsLeft_ - 20, top, 14, kBar), sideName(side), palette_, kToTheRight);
    list.fill(QRectF(barsLeft_ - 4, top + 2, 3, kBar - 4), sideColour(palette_, side));
  }
  const analysis::HookBucket* bucket = content_.sides[side].find(row.bucket);
  if (bucket == nullptr) {
    list.note(QRectF(barsLeft_ + 6, top, 200, kBar), tr("no such bucket"), palette_);
    return;
  }
  double end = barsLeft_;
  for (const Bar& bar : bars_) {
    if (bar.side != side || bar.pick.bucket != row.bucket) {
      continue;
    }
    drawSwatch(list, bar.rect, swatchOf(*bar.pick.phase, palette_), 0);
    end = bar.rect.right();
    const bool picked = frame_.picked == bar.pick;
    if (picked || frame_.hovered == bar.pick) {
      list.outline(bar.rect.adjusted(-1, -1, 1, 1), picked ? palette_.accent : palette_.hover);
    }
  }
  const double middle = top + kBar / 2;
  const double p90 = barX(bucket->total.p90);
  // The line of the P90 begins where the bar ends; it may also lie within the bar, as a mark alone.
  if (p90 > end) {
    list.line(QPointF(end, middle), QPointF(p90, middle), palette_.textMuted);
  }
  list.line(QPointF(p90, top + 3), QPointF(p90, top + kBar - 3), palette_.text, 1.5);
  const double text = std::max(end, p90) + 8;
  list.label(QRectF(text, top, std::max(0.0, bytesLeft_ - 12 - text), kBar),
             tr("%1, P90 %2").arg(formatMs(bucket->total.p50), formatMs(bucket->total.p90)),
             palette_);
  drawBytes(list, QRectF(bytesLeft_, top, phases_.right() - 10 - bytesLeft_, kBar), *bucket);
}

void HooksScene::drawBytes(DisplayList& list, const QRectF& rect,
                           const analysis::HookBucket& bucket) const {
  // Too narrow for a bar with its text: the text would lie on it.
  if (rect.width() < kBytesText + 40) {
    return;
  }
  const double full = rect.width() - kBytesText - 8;
  const auto widthOf = [&](double bytes) { return bytes / maxBytes_ * full; };
  const QColor colour = palette_.tone(Tone::kCopy);
  if (bucket.gradientBytes) {
    // At least 2 px, so that what is there is seen.
    list.outline(QRectF(rect.left(), rect.top() + 1,
                        std::max(2.0, widthOf(static_cast<double>(*bucket.gradientBytes))),
                        rect.height() - 2),
                 palette_.textMuted);
  }
  if (bucket.payloadBytes > 0) {
    list.fill(QRectF(rect.left(), rect.top() + 4, std::max(1.5, widthOf(bucket.payloadBytes)),
                     rect.height() - 8),
              colour);
  }
  QString text;
  if (!bucket.gradientBytes) {
    text = bucket.payloadBytes > 0 ? formatBytes(bucket.payloadBytes) : QString();
  } else {
    text = formatBytes(*bucket.gradientBytes) + QStringLiteral(" → ") +
           (bucket.payloadBytes > 0 ? formatBytes(bucket.payloadBytes) : tr("nothing"));
    if (const auto ratio = bucket.ratio()) {
      text += QStringLiteral("   ") + ratioText(*ratio);
    }
  }
  list.label(QRectF(rect.right() - kBytesText, rect.top(), kBytesText, rect.height()), text,
             palette_);
}

}  // namespace lockstep::ui
