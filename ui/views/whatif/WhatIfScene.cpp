#include "ui/views/whatif/WhatIfScene.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Plot.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

constexpr double kLabel = 168;
constexpr double kRow = 15;
constexpr double kGap = 8;
constexpr double kAxis = 20;
constexpr double kRightMargin = 12;

// With a row of what a rank computes.
double stripHeight(const WhatIf& told) {
  return static_cast<double>(told.rows() + 1) * kRow;
}

/// What a rank computes, under the buckets: solid where it does, a mark where its iteration ends.
void drawComputing(DisplayList& list, const QRectF& row, const Scale& axis,
                   const ComputingLane& lane, const Palette& palette) {
  for (const cost::Stretch& stretch : lane.computing) {
    list.fill(QRectF(axis.at(stretch.begin), row.top() + 3,
                     std::max(axis.at(stretch.end) - axis.at(stretch.begin), 1.0), kRow - 6),
              palette.tone(Tone::kBackward));
  }
  list.fill(QRectF(std::round(axis.at(lane.endNs)), row.top(), 2, kRow), palette.text);
}

/// Where the end of the iteration is expected in nine cases of ten.
void drawWhisker(DisplayList& list, const QRectF& row, const Scale& axis, const WhatIf& told,
                 const Palette& palette) {
  const cost::Estimate& step = told.spoken().stepNs;
  const double begin = told.wantedLane.endNs - step.value;
  const double low = axis.at(begin + step.low);
  const double high = axis.at(begin + step.high);
  const double y = std::round(row.top() + kRow / 2);
  list.fill(QRectF(low, y, high - low, 1.5), palette.text);
  for (const double end : {low, high}) {
    list.fill(QRectF(end, y - 4, 1.5, 9), palette.text);
  }
}

void drawStrip(DisplayList& list, const QRectF& strip, const Scale& axis, const WhatIf& told,
               const cost::StepOutcome& outcome, const ComputingLane& lane, const QString& title,
               const Palette& palette) {
  list.label(QRectF(strip.left() + 8, strip.top(), kLabel - 12, strip.height() - kRow), title,
             palette);
  list.note(QRectF(strip.left() + 8, strip.bottom() - kRow, kLabel - 12, kRow),
            QStringLiteral("computing, rank %1").arg(told.spoken().rank), palette);
  list.fill(QRectF(axis.start, strip.top() - 1, axis.end - axis.start, strip.height() + 2),
            palette.lane);
  for (std::size_t b = 0; b < outcome.buckets.size(); ++b) {
    const cost::BucketMoments& bucket = outcome.buckets[b];
    const double y = strip.top() + static_cast<double>(b % told.rows()) * kRow;
    const double launched = axis.at(bucket.launchedNs);
    const double began = axis.at(bucket.beganNs);
    const double ended = axis.at(bucket.endedNs);
    const QColor own = palette.bucket(static_cast<int>(b));
    // Pale from launch to begin: queued.
    if (began > launched) {
      list.fill(QRectF(launched, y + 5, began - launched, kRow - 11),
                mixed(own, palette.background, 0.4));
    }
    const QRectF bar(began, y + 1, std::max(ended - began, 1.5), kRow - 2);
    list.fill(bar, own, bar.width() > 6 ? 2 : 0);
    const QString text = QStringLiteral("b%1").arg(b);
    if (bar.width() > textWidth(text, FontRole::kSmall) + 4) {
      list.text(bar, text, Palette::textOn(own), FontRole::kSmall, Qt::AlignCenter);
    }
  }
  drawComputing(list, QRectF(strip.left(), strip.bottom() - kRow, strip.width(), kRow), axis, lane,
                palette);
  // After this line the rank's backward is over: what is still in flight is exposed.
  const double last = std::round(axis.at(lane.lastGradientNs));
  list.fill(QRectF(last, strip.top() - 2, 2, strip.height() + 4), palette.accent);
}

}  // namespace

double whatIfHeight(const WhatIf& told) {
  return told.known() ? 2 * stripHeight(told) + 3 * kGap + kAxis : 0;
}

void drawWhatIf(DisplayList& list, const QRectF& area, const WhatIf& told, const Palette& palette) {
  list.fill(area, palette.background);
  if (!told.known()) {
    return;
  }
  // The axis is of both strips, so that they can be compared.
  const double last =
      std::max({told.measuredLane.endNs, told.wantedLane.endNs,
                told.wantedLane.endNs + told.spoken().stepNs.high - told.spoken().stepNs.value});
  const double margin = std::max(last, 1.0) * 0.02;
  const double high = stripHeight(told);
  const QRectF plot(area.left() + kLabel, area.top(),
                    std::max(area.width() - kLabel - kRightMargin, 1.0), 2 * high + 3 * kGap);
  const Scale axis{-margin, last + margin, plot.left(), plot.right()};
  drawAxisBelow(
      list, plot, axis, 90, [last](double ns, double step) { return formatTime(ns, step, last); },
      palette, true);
  list.clip(QRectF(area.left(), area.top(), plot.right() - area.left(), plot.height()));
  const QRectF first(area.left(), area.top() + kGap, area.width(), high);
  drawStrip(list, first, axis, told, told.measured, told.measuredLane,
            QStringLiteral("Measured, %1").arg(told.own), palette);
  const QRectF second(area.left(), area.top() + 2 * kGap + high, area.width(), high);
  drawStrip(list, second, axis, told, told.wanted, told.wantedLane, forecastName(told), palette);
  drawWhisker(list, QRectF(second.left(), second.bottom() - kRow, second.width(), kRow), axis, told,
              palette);
  list.unclip();
  list.text(QRectF(area.left() + 8, plot.bottom(), kLabel - 12, kAxis),
            QStringLiteral("▍ last gradient ready"), palette.accent, FontRole::kSmall);
}

}  // namespace lockstep::ui
