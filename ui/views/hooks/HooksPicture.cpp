#include "ui/views/hooks/HooksPicture.h"

#include <algorithm>

#include "ui/views/hooks/HooksScene.h"

namespace lockstep::ui {
Picture hooksPicture(const HooksContent& content, QSize size, Theme theme) {
  const Palette& palette = Palette::of(theme);
  HooksFrame frame;
  frame.size = QSizeF(size.width(), std::max(0.0, size.height() - kPictureHead));
  frame.picked = content.heaviest();
  // In two steps: the height is not known before everything has its place.
  frame.size.setHeight(
      std::max(frame.size.height(), HooksScene(content, palette, frame).contentHeight()));
  Picture picture;
  picture.size = QSizeF(size.width(), frame.size.height() + kPictureHead);
  QStringList names;
  for (const HookSide& side : content.sides) {
    names << side.run->run;
  }
  picture.title = QStringLiteral("Hooks: ") + names.join(QStringLiteral(" and "));
  drawPictureHead(picture, {}, palette);
  picture.list.append(drawn(HooksScene(content, palette, frame)), QPointF(0, kPictureHead));
  return picture;
}

Picture hooksPicture(const RunModel& model, const AnalysedRun& run, QSize size, Theme theme) {
  return hooksPicture(*makeHooksContent({makeHookRun(hookFactsOf(model), run)}, std::nullopt), size,
                      theme);
}

}  // namespace lockstep::ui
