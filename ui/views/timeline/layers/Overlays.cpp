#include "ui/views/timeline/layers/Overlays.h"

#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Plate.h"
#include "ui/model/Format.h"

namespace lockstep::ui {

void SelectionLayer::draw(DisplayList& list) const {
  list.clip(sight_.lanesArea());
  if (frame_.hovered) {
    if (const auto rect = sight_.rectOf(*frame_.hovered)) {
      list.outline(rect->adjusted(-1, -1, 0, 1), palette_.hover, 2);
    }
  }
  if (frame_.selection) {
    if (const auto rect = sight_.rectOf(*frame_.selection)) {
      list.outline(rect->adjusted(-1, -1, 0, 1), palette_.accent, 2);
      list.outline(rect->adjusted(-2, -2, 1, 2), palette_.accent, 3);
    }
  }
  list.unclip();
}

void FilterLayer::draw(DisplayList& list) const {
  if (!frame_.filter || frame_.filter->empty()) {
    return;
  }
  const QRectF band = sight_.bandOf(*frame_.filter);
  const QRectF area = sight_.timesArea();
  const QColor veil = withAlpha(palette_.background, 0.68f);
  list.fill(QRectF(area.topLeft(), band.bottomLeft()), veil);
  list.fill(QRectF(band.topRight(), area.bottomRight()), veil);
  for (const double x : {band.left(), band.right()}) {
    if (x > axis_.left() && x < axis_.right()) {
      list.fill(QRectF(std::round(x) - 1, band.top(), 2, band.height()), palette_.accent);
    }
  }
  if (band.width() < 2) {
    return;
  }
  const QString text = QStringLiteral("filter: ") + formatDuration(frame_.filter->lengthNs());
  const double width = textWidth(text, FontRole::kSmall) + 12;
  const double left = sight_.labelLeft(band.center().x() - width / 2, width);
  drawPlate(list, QRectF(left, band.bottom() - 20, width, 16), text, palette_.accent);
}

void MeasureLayer::draw(DisplayList& list) const {
  if (!frame_.measured || frame_.measured->empty()) {
    return;
  }
  const QRectF band = sight_.bandOf(*frame_.measured);
  list.fill(band, withAlpha(palette_.measure, 0.13f));
  for (const double x : {band.left(), band.right()}) {
    list.fill(QRectF(x, band.top(), 1, band.height()), palette_.measure);
  }
  const QString text = formatDuration(frame_.measured->lengthNs());
  const double width = textWidth(text, FontRole::kBold) + 16;
  const double left = sight_.labelLeft(band.center().x() - width / 2, width);
  drawPlate(list, QRectF(left, band.top() + 4, width, 20), text, palette_.measure,
            {.radius = 4, .font = FontRole::kBold});
}

}  // namespace lockstep::ui
