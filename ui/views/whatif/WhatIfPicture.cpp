#include "ui/views/whatif/WhatIfPicture.h"

#include <algorithm>
#include <utility>

#include "ui/chart/Card.h"
#include "ui/model/Format.h"
#include "ui/model/RunTitle.h"
#include "ui/views/whatif/ScalingScene.h"
#include "ui/views/whatif/WhatIf.h"
#include "ui/views/whatif/WhatIfScene.h"

namespace lockstep::ui {
namespace {

constexpr double kScalingHeight = 360;
constexpr double kRefusalHeight = 60;
constexpr double kMargin = 12;

QString subtitle(const RunModel& model, const WhatIf& told) {
  const QString ranks =
      formatCounted(static_cast<std::uint64_t>(std::max(model.rankCount(), 0)), "rank");
  return !told.known() ? ranks
                       : QStringLiteral("%1  ·  iteration %2, of %3 that were replayed")
                             .arg(ranks)
                             .arg(told.step)
                             .arg(formatCount(told.steps));
}

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
  const double wanted = kPictureHead + strips + (hasCurve ? kMargin + kScalingHeight : 0) + kMargin;
  picture.size = QSizeF(size.width(), size.height() > 0 ? size.height() : wanted);
  drawPictureHead(picture, subtitle(model, told), palette);
  const QRectF upper(0, kPictureHead, picture.size.width(), strips);
  if (told.known()) {
    drawWhatIf(picture.list, upper, told, palette);
  } else {
    drawMessage(picture.list, upper, QStringLiteral("What if"), told.whyNot, palette.textMuted,
                palette);
  }
  if (hasCurve) {
    const double top = upper.bottom() + kMargin;
    const QRectF lower(0, top, picture.size.width(), picture.size.height() - kMargin - top);
    drawScaling(picture.list, {lower, 0, std::nullopt}, curve, palette);
  }
  return picture;
}

}  // namespace lockstep::ui
