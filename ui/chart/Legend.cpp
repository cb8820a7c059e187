#include "ui/chart/Legend.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

constexpr double kText = 17;  // from the left of a swatch
constexpr double kGap = 16;
constexpr double kFirstLine = 26;
constexpr double kNextLine = 18;

/// Entries that stand beside each other; `width` with the gap after the last.
struct Line {
  std::span<const LegendEntry> entries;
  double width = 0;
};

double textWidthOf(const LegendEntry& entry) {
  return textWidth(entry.text, FontRole::kSmall) + 2;
}

/// At least one; without what is wider than a line, and what would come after it.
std::vector<Line> linesOf(std::span<const LegendEntry> entries, double width) {
  // Greedy: an entry goes to the next line when this one is full.
  std::vector<Line> lines(1);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const double wide = kText + textWidthOf(entries[i]);
    if (wide > width) {
      break;
    }
    if (lines.back().width + wide > width) {
      lines.emplace_back();
      begin = i;
    }
    lines.back().entries = entries.subspan(begin, i + 1 - begin);
    lines.back().width += wide + kGap;
  }
  return lines;
}

}  // namespace

Swatch hatched(const QColor& colour, const Palette& palette) {
  return {mixed(colour, palette.background, 0.35), colour};
}

void drawSwatch(DisplayList& list, const QRectF& rect, const Swatch& swatch, double radius) {
  list.fill(rect, swatch.colour, radius);
  if (swatch.hatch.isValid()) {
    list.hatch(rect, swatch.hatch);
  }
}

double legendHeight(const std::vector<LegendEntry>& entries, double width) {
  return kFirstLine + kNextLine * static_cast<double>(linesOf(entries, width).size() - 1);
}

double drawLegend(DisplayList& list, const QRectF& area, const std::vector<LegendEntry>& entries,
                  const Palette& palette, Qt::Alignment alignment) {
  constexpr double kSide = 12;
  constexpr double kStroke = 3;
  std::vector<Line> lines = linesOf(entries, area.width());
  const double room = 1 + std::floor(std::max(0.0, area.height() - kFirstLine) / kNextLine);
  lines.resize(std::min(lines.size(), static_cast<std::size_t>(room)));
  const double high = area.height() / static_cast<double>(lines.size());
  double widest = 0;
  double top = area.top();
  for (const Line& line : lines) {
    double x = alignment.testFlag(Qt::AlignRight) ? area.right() + kGap - line.width : area.left();
    for (const LegendEntry& entry : line.entries) {
      const double height = entry.swatch.stroke ? kStroke : kSide;
      const double width = textWidthOf(entry);
      drawSwatch(list, QRectF(x, top + high / 2 - height / 2, kSide, height), entry.swatch);
      list.note(QRectF(x + kText, top, width, high), entry.text, palette);
      x += kText + width + kGap;
    }
    widest = std::max(widest, line.width);
    top += high;
  }
  return widest;
}

}  // namespace lockstep::ui
