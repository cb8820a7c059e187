#include "ui/views/timeline/layers/ForecastLayer.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

using namespace timeline_metrics;

constexpr double kLeastWidth = 1.5;
constexpr double kRounded = 6;  // px of a bar from which its corners show

}  // namespace

void ForecastLayer::draw(DisplayList& list) const {
  const TimelineLayout::ForecastBox& box = layout_.forecast();
  if (frame_.forecast == nullptr || box.rows.empty() || !sight_.inSight(box.top, box.height)) {
    return;
  }
  const ForecastIteration& forecast = *frame_.forecast;
  list.clip(sight_.lanesArea());
  drawBuckets(list, forecast);
  drawEnd(list, forecast);
  list.unclip();
  drawTitle(list, sight_.scrolled(), box.top, box.height, QStringLiteral("Forecast"));
}

void ForecastLayer::drawBuckets(DisplayList& list, const ForecastIteration& forecast) const {
  const auto& rows = layout_.forecast().rows;
  for (std::size_t b = 0; b < forecast.buckets.size(); ++b) {
    const ForecastIteration::Bucket& bucket = forecast.buckets[b];
    const double began = axis_.toX(bucket.beganNs);
    const double ended = std::max(axis_.toX(bucket.endedNs), began + kLeastWidth);
    const double launched = axis_.toX(bucket.launchedNs);
    if (ended < axis_.left() || launched > axis_.right()) {
      continue;
    }
    const auto& row = rows[b % rows.size()];
    const double y = sight_.yOf(row.top);
    const QColor own = palette_.bucket(static_cast<int>(b));
    if (began > launched) {
      list.fill(QRectF(launched, y + row.height / 3, began - launched, row.height / 3),
                mixed(own, palette_.background, 0.4));
    }
    const QRectF bar(began, y, ended - began, row.height);
    list.fill(bar, own, bar.width() > kRounded ? 2 : 0);
    const QString text = QStringLiteral("b%1").arg(b);
    if (bar.width() > textWidth(text, FontRole::kSmall) + 4) {
      list.text(bar, text, Palette::textOn(own), FontRole::kSmall, Qt::AlignCenter);
    }
  }
}

void ForecastLayer::drawEnd(DisplayList& list, const ForecastIteration& forecast) const {
  const TimelineLayout::ForecastBox& box = layout_.forecast();
  const double top = sight_.yOf(box.top);
  const double low = axis_.toX(forecast.leastEndNs);
  const double high = axis_.toX(forecast.mostEndNs);
  const double middle = std::round(top + box.height / 2);
  list.fill(QRectF(low, middle, high - low, 1.5), palette_.text);
  for (const double end : {low, high}) {
    list.fill(QRectF(end, middle - 4, 1.5, 9), palette_.text);
  }
  list.fill(QRectF(axis_.toX(forecast.endNs), top + 1, 2, box.height - 2), palette_.text);
  list.note(QRectF(high + 6, top, axis_.right() - high - 8, box.height),
            QStringLiteral("iteration %1 with %2").arg(forecast.step).arg(forecast.change),
            palette_);
}

}  // namespace lockstep::ui
