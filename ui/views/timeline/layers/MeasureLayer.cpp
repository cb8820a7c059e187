#include "ui/views/timeline/layers/MeasureLayer.h"

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Plate.h"
#include "ui/model/Format.h"

namespace lockstep::ui {

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
