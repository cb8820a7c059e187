#include "ui/views/ranks/RanksPicture.h"

#include "ui/chart/Card.h"
#include "ui/model/RunTitle.h"
#include "ui/views/ranks/RanksScene.h"

namespace lockstep::ui {

Picture ranksPicture(const RunModel& model, const AnalysedRun& run, QSize size, Theme theme) {
  constexpr int kHeight = 760;
  constexpr double kTitle = 34;
  const Palette& palette = Palette::of(theme);
  Picture picture;
  picture.title = titleOfRun(model);
  picture.size = QSizeF(size.width(), size.height() > 0 ? size.height() : kHeight);
  picture.list.fill(QRectF(QPointF(0, 0), picture.size), palette.surface);
  picture.list.title(QRectF(14, 4, picture.size.width() - 28, kTitle - 4),
                     picture.title + QStringLiteral(": ranks"), palette);
  RanksMap map;
  map.show(ranksContent(run, ranksOfRun(model)), RankFigure::kStep, RankOrder::kNumber);
  const QSizeF rest(picture.size.width(), picture.size.height() - kTitle);
  picture.list.append(drawn(RanksScene(map, palette, {rest, std::nullopt})), QPointF(0, kTitle));
  return picture;
}

}  // namespace lockstep::ui
