#include <algorithm>
#include <cmath>
#include <tuple>

#include "ui/chart/Ticks.h"
#include "ui/model/Format.h"
#include "ui/views/overlap/OverlapScene.h"

// What all ranks of a run of many have exposed, step by step.
namespace lockstep::ui {

// Note [All ranks in a bar]
//
//   ▲ rank 40      the rank with the most
//   │
//   ┌┴┐            from three quarters
//   ├─┤            half of the ranks have less, half have more
//   └┬┘            to a quarter
//   │              down to the least
//
// A bar of several steps (Note [Bars of many steps]) keeps the outlier: its most is that of the
// worst of them, which a click on it selects; box and line are means.
std::optional<OverlapScene::SpreadBar> OverlapScene::spreadAt(std::uint32_t step) const {
  const std::uint32_t each = stepsPerBar();
  const std::uint32_t begin = step / each * each;
  const std::uint64_t next = std::uint64_t{begin} + each;
  const auto& all = content_.spreads;
  std::optional<SpreadBar> bar;
  double count = 0;
  for (std::size_t i = content_.firstSpreadFrom(begin); i < all.size() && all[i].step < next;
       ++i, ++count) {
    const OverlapContent::Spread& of = all[i];
    if (!bar) {
      bar = SpreadBar{of, of.step, 0, 0};
      continue;
    }
    OverlapContent::Spread& sum = bar->spread;
    sum.least = std::min(sum.least, of.least);
    sum.quarter += of.quarter;
    sum.half += of.half;
    sum.threeQuarters += of.threeQuarters;
    if (of.most > sum.most) {
      sum.most = of.most;
      sum.worst = of.worst;
      sum.step = of.step;
    }
    bar->last = of.step;
  }
  if (bar) {
    bar->spread.quarter /= count;
    bar->spread.half /= count;
    bar->spread.threeQuarters /= count;
    std::tie(bar->left, bar->right) = edgesOf(begin, next);
  }
  return bar;
}

void OverlapScene::drawSpread(DisplayList& list) const {
  const QRectF& plot = spread_.plot;
  if (plot.isEmpty() || plot.bottom() < charts_.top() || plot.top() > charts_.bottom()) {
    return;
  }
  const auto yOfMs = [&](double ms) {
    return std::round(plot.bottom() - plot.height() * std::min(1.0, ms / content_.spreadMs));
  };
  list.fill(plot, palette_.lane);
  const double stepMs = roundStep(content_.spreadMs, 5);
  for (double ms = stepMs; ms < content_.spreadMs; ms += stepMs) {
    list.fill(QRectF(plot.left(), yOfMs(ms), plot.width(), 1), palette_.grid);
    list.note(QRectF(plot.left() - 66, yOfMs(ms) - 8, 60, 16), formatMs(ms), palette_, kToTheRight);
  }
  list.clip(plot);
  drawWarmUp(list, spread_);
  const QColor colour = palette_.tone(Tone::kWait);
  const std::uint32_t each = stepsPerBar();
  const double first = std::max(0.0, std::floor(frame_.firstStep));
  for (double step = first - std::fmod(first, each); step < frame_.lastStep; step += each) {
    const auto bar = spreadAt(static_cast<std::uint32_t>(step));
    if (!bar) {
      continue;
    }
    const OverlapContent::Spread& ms = bar->spread;
    const double width = bar->right - bar->left;
    const double middle = std::round(bar->left + width / 2);
    list.fill(QRectF(middle, yOfMs(ms.most), 1, yOfMs(ms.least) - yOfMs(ms.most)),
              palette_.textMuted);
    const double top = yOfMs(ms.threeQuarters);
    list.fill(QRectF(bar->left, top, width, std::max(1.0, yOfMs(ms.quarter) - top)), colour);
    list.fill(QRectF(bar->left, yOfMs(ms.half), width, 2), palette_.text);
    const double size = std::min(3.0, width);
    list.fill(QRectF(middle - size / 2, yOfMs(ms.most), size, size), palette_.warning);
  }
  list.unclip();
  list.fill(QRectF(plot.left(), plot.bottom() - 1, plot.width(), 1), palette_.gridStrong);
  drawSpreadLabel(list);
}

void OverlapScene::drawSpreadLabel(DisplayList& list) const {
  double y = spread_.label.top() + 2;
  const auto line = [&](const QString& text, const QColor& colour, FontRole font) {
    if (y + 16 <= spread_.label.bottom()) {
      list.text(QRectF(14, y, spread_.label.width() - 84, 16), text, colour, font);
    }
    y += 17;
  };
  line(QStringLiteral("all %1 ranks").arg(formatCount(content_.ranks.size())), palette_.text,
       FontRole::kBold);
  for (const char* text :
       {"exposed a step", "box: middle half", "line: the half", "mark: the most"}) {
    line(QString::fromLatin1(text), palette_.textMuted, FontRole::kSmall);
  }
}

Card OverlapScene::spreadCard(const SpreadBar& bar) const {
  const OverlapContent::Spread& ms = bar.spread;
  const QString title = bar.last == bar.spread.step && stepsPerBar() == 1
                            ? QStringLiteral("all ranks, iteration %1").arg(bar.spread.step)
                            : QStringLiteral("all ranks, iterations up to %1").arg(bar.last);
  return {title,
          {},
          {{QStringLiteral("exposed most"),
            QStringLiteral("%1, rank %2").arg(formatMs(ms.most)).arg(ms.worst)},
           {QStringLiteral("a quarter above"), formatMs(ms.threeQuarters)},
           {QStringLiteral("half above"), formatMs(ms.half)},
           {QStringLiteral("a quarter below"), formatMs(ms.quarter)},
           {QStringLiteral("exposed least"), formatMs(ms.least)}},
          {QStringLiteral("A click shows the rank that is exposed most.")}};
}

}  // namespace lockstep::ui
