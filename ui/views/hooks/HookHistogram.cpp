#include "ui/chart/DurationHistogram.h"
#include "ui/views/hooks/HookCharts.h"
#include "ui/views/hooks/HookWords.h"

namespace lockstep::ui {
namespace {

using namespace hook_words;

}  // namespace

QColor sideColour(const Palette& palette, std::size_t side) {
  // Blue and vermilion differ also for those who cannot tell red from green.
  constexpr int kBlue = 0;
  constexpr int kVermilion = 6;
  return palette.rank(side == 0 ? kBlue : kVermilion);
}

QString sideName(std::size_t side) {
  return side == 0 ? QStringLiteral("A") : QStringLiteral("B");
}

void drawHookHistogram(DisplayList& list, const QRectF& rect, const HooksContent& content,
                       const HookPick& pick, const Palette& palette) {
  const QRectF inner = rect.adjusted(kPad, kPad, -kPad, -kPad);
  list.title(QRectF(inner.left(), inner.top(), inner.width(), kLine),
             tr("How long: %1, %2").arg(bucketTitle(pick.bucket), phaseTitle(pick.phase)), palette);
  HistogramFrame frame;
  frame.rect = inner.adjusted(0, kLine + 4, -6, 0);
  frame.none = tr("No call of it was measured");
  for (std::size_t side = 0; side < content.sides.size(); ++side) {
    frame.runs.push_back({content.compares() ? sideName(side) : QString(),
                          content.sides[side].durations(pick), sideColour(palette, side)});
  }
  drawHistogram(list, frame, palette);
}

}  // namespace lockstep::ui
