#include "ui/views/overlap/CardDrawing.h"

#include <algorithm>

#include "ui/canvas/FactCard.h"
#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

constexpr double kPadding = 9;
constexpr double kLine = 17;
constexpr double kTitle = 24;
constexpr double kChip = 10;
constexpr double kSentenceWidth = 340;

}  // namespace

void drawChip(DisplayList& list, const QRectF& rect, const QColor& colour, bool hatched,
              const Palette& palette) {
  list.fill(rect, hatched ? mixed(colour, palette.background, 0.35) : colour, 2);
  if (hatched) {
    list.hatch(rect, colour);
  }
}

void drawCard(DisplayList& list, QSizeF size, QPointF pointer, const QString& title,
              const std::vector<CardLine>& lines, const QStringList& sentences,
              const Palette& palette) {
  double names = 0;
  double values = 0;
  for (const CardLine& line : lines) {
    names = std::max(names, textWidth(line.name, FontRole::kSmall));
    values = std::max(values, textWidth(line.value, FontRole::kSmall));
  }
  QStringList words;
  for (const QString& sentence : sentences) {
    words << brokenInto(sentence, kSentenceWidth, FontRole::kSmall);
  }
  double inner = std::max(kChip + 6 + names + 14 + values, textWidth(title, FontRole::kBold));
  for (const QString& line : words) {
    inner = std::max(inner, textWidth(line, FontRole::kSmall));
  }
  inner += 4;
  const double gap = words.isEmpty() ? 0 : 4;
  const QSizeF card(inner + 2 * kPadding, kTitle + kLine * static_cast<double>(lines.size()) + gap +
                                              kLine * static_cast<double>(words.size()) + kPadding);
  const QRectF rect = drawCardGround(list, size, pointer, card, palette);
  const double left = rect.left() + kPadding;
  list.text(QRectF(left, rect.top() + 2, inner, kTitle - 2), title, palette.text, FontRole::kBold);
  double y = rect.top() + kTitle;
  for (const CardLine& line : lines) {
    if (line.chip.isValid()) {
      drawChip(list, QRectF(left, y + 4, kChip, kChip), line.chip, line.hatched, palette);
    }
    list.text(QRectF(left + kChip + 6, y, names + 2, kLine), line.name, palette.textMuted,
              FontRole::kSmall);
    list.text(QRectF(left + kChip + 6, y, inner - kChip - 6, kLine), line.value, palette.text,
              FontRole::kSmall, Qt::AlignRight | Qt::AlignVCenter);
    y += kLine;
  }
  y += gap;
  for (const QString& line : words) {
    list.text(QRectF(left, y, inner, kLine), line, palette.text, FontRole::kSmall);
    y += kLine;
  }
}

}  // namespace lockstep::ui
