#include "ui/views/hooks/HooksPicture.h"

#include <algorithm>

#include "ui/canvas/TextMetrics.h"
#include "ui/views/hooks/HooksScene.h"

namespace lockstep::ui {
namespace {

constexpr double kTitleHeight = 38;

}  // namespace

Picture hooksPicture(const HooksContent& content, QSize size, Theme theme) {
  const Palette& palette = Palette::of(theme);
  HooksFrame frame;
  frame.size = QSizeF(size.width(), std::max(0.0, size.height() - kTitleHeight));
  frame.picked = content.heaviest();
  // In two steps: the height is not known before everything has its place.
  frame.size.setHeight(
      std::max(frame.size.height(), HooksScene(content, palette, frame).contentHeight()));
  Picture picture;
  picture.size = QSizeF(size.width(), frame.size.height() + kTitleHeight);
  DisplayList& list = picture.list;
  list.fill(QRectF(QPointF(0, 0), picture.size), palette.background);
  QStringList names;
  for (const HookSide& side : content.sides) {
    names << side.run->run;
  }
  picture.title = QStringLiteral("Hooks: ") + names.join(QStringLiteral(" and "));
  list.text(QRectF(12, 0, picture.size.width() - 24, kTitleHeight), picture.title, palette.text,
            FontRole::kBold);
  DisplayList body;
  HooksScene(content, palette, frame).draw(body);
  list.append(body, QPointF(0, kTitleHeight));
  return picture;
}

Picture hooksPicture(const RunModel& model, const AnalysedRun& run, QSize size, Theme theme) {
  return hooksPicture(*makeHooksContent({makeHookRun(hookFactsOf(model), run)}, std::nullopt), size,
                      theme);
}

}  // namespace lockstep::ui
