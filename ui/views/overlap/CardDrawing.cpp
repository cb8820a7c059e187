#include "ui/views/overlap/CardDrawing.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

constexpr double kPadding = 9;
constexpr double kLine = 17;
constexpr double kTitle = 24;
constexpr double kChip = 10;
constexpr double kSentenceWidth = 340;

QColor shade() {
  QColor colour(Qt::black);
  colour.setAlphaF(0.18f);
  return colour;
}

QPointF placed(QSizeF card, QSizeF size, QPointF pointer) {
  QPointF at = pointer + QPointF(16, 18);
  if (at.x() + card.width() > size.width() - 4) {
    at.setX(pointer.x() - card.width() - 12);
  }
  if (at.y() + card.height() > size.height() - 4) {
    at.setY(pointer.y() - card.height() - 12);
  }
  const QPointF last(std::max(4.0, size.width() - card.width() - 4),
                     std::max(4.0, size.height() - card.height() - 4));
  return {std::clamp(std::round(at.x()), 4.0, last.x()),
          std::clamp(std::round(at.y()), 4.0, last.y())};
}

}  // namespace

QStringList brokenInto(const QString& text, double width, FontRole font) {
  QStringList lines;
  QString line;
  for (const QString& word : text.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
    const QString longer = line.isEmpty() ? word : line + QLatin1Char(' ') + word;
    if (!line.isEmpty() && textWidth(longer, font) > width) {
      lines << line;
      line = word;
    } else {
      line = longer;
    }
  }
  if (!line.isEmpty()) {
    lines << line;
  }
  return lines;
}

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
  const QRectF rect(placed(card, size, pointer), card);
  list.fill(rect.translated(0, 2).adjusted(-1, -1, 1, 2), shade(), 6);
  list.fill(rect, palette.surface, 5);
  list.outline(rect, palette.gridStrong, 5);
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

void drawSentence(DisplayList& list, const QRectF& area, const QString& sentence,
                  const QString& more, const Palette& palette) {
  const double width = std::min(area.width() - 24, 620.0);
  const QStringList lines = brokenInto(more, width, FontRole::kNormal);
  const auto centred = Qt::AlignHCenter | Qt::AlignVCenter;
  double y = area.center().y() - 14 - 10 * static_cast<double>(lines.size());
  list.text(QRectF(area.left() + 8, y, area.width() - 16, 24), sentence, palette.text,
            FontRole::kBold, centred);
  y += 27;
  for (const QString& line : lines) {
    list.text(QRectF(area.left() + 8, y, area.width() - 16, 20), line, palette.textMuted,
              FontRole::kNormal, centred);
    y += 20;
  }
}

}  // namespace lockstep::ui
