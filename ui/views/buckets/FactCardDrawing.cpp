#include "ui/views/buckets/FactCardDrawing.h"

#include <QStringList>
#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

constexpr double kPadding = 10;
constexpr double kLine = 16;
constexpr double kTitle = 24;
constexpr double kWidestValue = 360;

QStringList wrapped(const QString& text, double width) {
  QStringList lines{QString()};
  for (const QString& word : text.split(QLatin1Char(' '))) {
    QString& line = lines.back();
    const QString longer = line.isEmpty() ? word : line + QLatin1Char(' ') + word;
    if (line.isEmpty() || textWidth(longer, FontRole::kSmall) <= width) {
      line = longer;
    } else {
      lines << word;
    }
  }
  return lines;
}

}  // namespace

void drawFactCard(DisplayList& list, const FactCard& card, const Palette& palette, QPointF pointer,
                  QSizeF canvas) {
  double names = 0;
  double values = 0;
  double lines = 0;
  std::vector<QStringList> texts;
  for (const Fact& fact : card.facts) {
    texts.push_back(wrapped(fact.value, kWidestValue));
    lines += static_cast<double>(texts.back().size());
    names = std::max(names, textWidth(fact.name, FontRole::kSmall));
    for (const QString& line : texts.back()) {
      values = std::max(values, textWidth(line, FontRole::kSmall));
    }
  }
  const double inner =
      std::max(names + 14 + values, textWidth(card.title, FontRole::kBold) + 18) + 2;
  const QSizeF size(inner + 2 * kPadding, kTitle + kLine * lines + kPadding);
  QPointF at = pointer + QPointF(16, 18);
  if (at.x() + size.width() > canvas.width() - 4) {
    at.setX(pointer.x() - size.width() - 12);
  }
  if (at.y() + size.height() > canvas.height() - 4) {
    at.setY(pointer.y() - size.height() - 12);
  }
  at = QPointF(std::max(4.0, std::round(at.x())), std::max(4.0, std::round(at.y())));
  const QRectF box(at, size);
  QColor shadow(Qt::black);
  shadow.setAlphaF(0.18f);
  list.fill(box.translated(0, 2).adjusted(-1, -1, 1, 2), shadow, 6);
  list.fill(box, palette.surface, 5);
  list.outline(box, palette.gridStrong, 5);
  list.fill(QRectF(box.left() + kPadding, box.top() + 8, 10, 10),
            card.bucket < 0 ? palette.tone(Tone::kNeutral) : palette.bucket(card.bucket), 2);
  list.text(QRectF(box.left() + kPadding + 16, box.top() + 2, inner - 16, kTitle - 2), card.title,
            palette.text, FontRole::kBold);
  double y = box.top() + kTitle;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    list.text(QRectF(box.left() + kPadding, y, names + 1, kLine), card.facts[i].name,
              palette.textMuted, FontRole::kSmall);
    for (const QString& line : texts[i]) {
      list.text(QRectF(box.left() + kPadding + names + 14, y, values + 2, kLine), line,
                palette.text, FontRole::kSmall);
      y += kLine;
    }
  }
}

}  // namespace lockstep::ui
