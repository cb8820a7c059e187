#include "ui/views/timeline/layers/FilterLayer.h"

#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Plate.h"
#include "ui/model/Format.h"

namespace lockstep::ui {

void FilterLayer::draw(DisplayList& list) const {
  if (!frame_.filter || frame_.filter->empty()) {
    return;
  }
  const QRectF band = sight_.bandOf(*frame_.filter);
  const QRectF area = sight_.lanesArea();
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

}  // namespace lockstep::ui
