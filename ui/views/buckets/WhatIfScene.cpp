#include "ui/views/buckets/WhatIfScene.h"

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
constexpr std::size_t kMostRows = 3;

// As many rows as buckets may be in flight, so that those beside each other do not cover.
std::size_t rowsOf(const WhatIf& told) {
  return told.inFlight == 0 ? kMostRows : std::min(told.inFlight, kMostRows);
}

double stripHeight(const WhatIf& told) {
  return static_cast<double>(rowsOf(told)) * kRow;
}

void drawStrip(DisplayList& list, const QRectF& strip, const Scale& axis, const WhatIf& told,
               const cost::StepOutcome& outcome, const QString& title, const Palette& palette) {
  list.label(QRectF(strip.left() + 8, strip.top(), kLabel - 12, strip.height()), title, palette);
  list.fill(QRectF(axis.start, strip.top() - 1, axis.end - axis.start, strip.height() + 2),
            palette.lane);
  for (std::size_t b = 0; b < outcome.buckets.size(); ++b) {
    const cost::BucketMoments& bucket = outcome.buckets[b];
    const double y = strip.top() + static_cast<double>(b % rowsOf(told)) * kRow;
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
      list.text(bar, text, Palette::textOn(own), FontRole::kSmall,
                Qt::AlignCenter);
    }
  }
  // After this line the backward is over: what is still in flight is exposed.
  const double last = std::round(axis.at(told.lastGradientNs));
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
  double first = told.lastGradientNs;
  double last = first;
  for (const cost::StepOutcome* outcome : {&told.measured, &told.wanted}) {
    for (const cost::BucketMoments& bucket : outcome->buckets) {
      first = std::min(first, bucket.launchedNs);
      last = std::max(last, bucket.endedNs);
    }
  }
  const double margin = std::max(last - first, 1.0) * 0.02;
  const double high = stripHeight(told);
  const QRectF plot(area.left() + kLabel, area.top(),
                    std::max(area.width() - kLabel - kRightMargin, 1.0), 2 * high + 3 * kGap);
  const Scale axis{first - margin, last + margin, plot.left(), plot.right()};
  drawAxisBelow(
      list, plot, axis, 90, [last](double ns, double step) { return formatTime(ns, step, last); },
      palette, true);
  drawStrip(list, QRectF(area.left(), area.top() + kGap, area.width(), high), axis, told,
            told.measured, QStringLiteral("Measured, cap ") + capText(told.ownCapBytes), palette);
  drawStrip(list, QRectF(area.left(), area.top() + 2 * kGap + high, area.width(), high), axis, told,
            told.wanted, QStringLiteral("Forecast, cap ") + capText(told.capBytes), palette);
  list.text(QRectF(area.left() + 8, plot.bottom(), kLabel - 12, kAxis),
            QStringLiteral("▍ last gradient ready"), palette.accent, FontRole::kSmall);
}

}  // namespace lockstep::ui
