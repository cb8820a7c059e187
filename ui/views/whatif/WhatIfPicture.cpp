#include "ui/views/whatif/WhatIfPicture.h"

#include <utility>

#include "ui/chart/Card.h"
#include "ui/model/RunTitle.h"
#include "ui/views/whatif/ScalingScene.h"
#include "ui/views/whatif/WhatIf.h"
#include "ui/views/whatif/WhatIfScene.h"

namespace lockstep::ui {
namespace {

constexpr double kScalingHeight = 360;
constexpr double kRefusalHeight = 60;

}  // namespace

Picture whatIfPicture(const RunModel& model, std::shared_ptr<const AnalysedRun> run, QSize size,
                      Theme theme) {
  const Palette& palette = Palette::of(theme);
  const auto made = whatIfRun(std::move(run), model.info(), model.ranks(), model.path());
  const WhatIf told = whatIf(*made, {});
  const ScalingCurve curve = scalingCurve(*made, {});
  const bool hasCurve = !curve.addsNothingTo(told.whyNot);
  const double strips = told.known() ? whatIfHeight(told) : kRefusalHeight;
  Picture picture;
  picture.title = titleOfRun(model);
  picture.size = QSizeF(
      size.width(), size.height() > 0 ? size.height() : strips + (hasCurve ? kScalingHeight : 0));
  picture.list.fill(QRectF(QPointF(0, 0), picture.size), palette.background);
  const QRectF upper(0, 0, picture.size.width(), strips);
  if (told.known()) {
    drawWhatIf(picture.list, upper, told, palette);
  } else {
    drawMessage(picture.list, upper, QStringLiteral("What if"), told.whyNot, palette.textMuted,
                palette);
  }
  if (hasCurve) {
    const QRectF lower(0, strips, picture.size.width(), picture.size.height() - strips);
    drawScaling(picture.list, {lower, 0, std::nullopt}, curve, palette);
  }
  return picture;
}

}  // namespace lockstep::ui
