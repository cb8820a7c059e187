#include "ui/views/divergence/HoverCard.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

constexpr double kWidestValue = 330;
constexpr double kPadding = 9;
constexpr double kLine = 17;
constexpr double kTitle = 24;

std::vector<Fact> inLines(const std::vector<Fact>& facts) {
  std::vector<Fact> lines;
  for (const Fact& fact : facts) {
    QString name = fact.name;
    for (const QString& line : wrapped(fact.value, kWidestValue, FontRole::kSmall)) {
      lines.push_back({name, line});
      name.clear();
    }
  }
  return lines;
}

}  // namespace

QStringList wrapped(const QString& text, double width, FontRole font) {
  QStringList lines;
  QString line;
  for (const QString& word : text.split(QLatin1Char(' '))) {
    const QString longer = line.isEmpty() ? word : line + QLatin1Char(' ') + word;
    if (!line.isEmpty() && textWidth(longer, font) > width) {
      lines << line;
      line = word;
    } else {
      line = longer;
    }
  }
  lines << line;
  return lines;
}

void drawHoverCard(DisplayList& list, QSizeF size, QPointF pointer, const QString& title,
                   const std::vector<Fact>& facts, const Palette& palette) {
  const std::vector<Fact> lines = inLines(facts);
  double names = 0;
  double values = 0;
  for (const Fact& fact : lines) {
    names = std::max(names, textWidth(fact.name, FontRole::kSmall));
    values = std::max(values, textWidth(fact.value, FontRole::kSmall));
  }
  const double inner = std::max(names + 14 + values, textWidth(title, FontRole::kBold)) + 4;
  const QSizeF card(inner + 2 * kPadding,
                    kTitle + kLine * static_cast<double>(lines.size()) + kPadding);
  QPointF at = pointer + QPointF(16, 18);
  if (at.x() + card.width() > size.width() - 4) {
    at.setX(pointer.x() - card.width() - 12);
  }
  if (at.y() + card.height() > size.height() - 4) {
    at.setY(pointer.y() - card.height() - 12);
  }
  at = QPointF(
      std::clamp(std::round(at.x()), 4.0, std::max(4.0, size.width() - card.width() - 4)),
      std::clamp(std::round(at.y()), 4.0, std::max(4.0, size.height() - card.height() - 4)));
  const QRectF rect(at, card);
  QColor shadow(Qt::black);
  shadow.setAlphaF(0.18f);
  list.fill(rect.translated(0, 2).adjusted(-1, -1, 1, 2), shadow, 6);
  list.fill(rect, palette.surface, 5);
  list.outline(rect, palette.gridStrong, 5);
  list.text(QRectF(rect.left() + kPadding, rect.top() + 2, inner, kTitle - 2), title, palette.text,
            FontRole::kBold);
  double y = rect.top() + kTitle;
  for (const Fact& fact : lines) {
    list.text(QRectF(rect.left() + kPadding, y, names + 2, kLine), fact.name, palette.textMuted,
              FontRole::kSmall);
    list.text(QRectF(rect.left() + kPadding + names + 14, y, values + 4, kLine), fact.value,
              palette.text, FontRole::kSmall);
    y += kLine;
  }
}

void drawMessage(DisplayList& list, const QRectF& area, const QString& title, const QString& more,
                 const QColor& colour, const Palette& palette) {
  const double width = std::min(area.width() - 24, 640.0);
  const QStringList lines =
      more.isEmpty() ? QStringList() : wrapped(more, width, FontRole::kNormal);
  constexpr double kMoreLine = 20;
  const double height = 26 + kMoreLine * static_cast<double>(lines.size());
  double y = std::max(area.top(), area.center().y() - height / 2);
  const auto centred = Qt::AlignHCenter | Qt::AlignVCenter;
  list.text(QRectF(area.left() + 8, y, area.width() - 16, 24), title, colour, FontRole::kBold,
            centred);
  y += 26;
  for (const QString& line : lines) {
    list.text(QRectF(area.left() + 8, y, area.width() - 16, kMoreLine), line, palette.textMuted,
              FontRole::kNormal, centred);
    y += kMoreLine;
  }
}

}  // namespace lockstep::ui
