#include "ui/canvas/FactCard.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

constexpr double kPadding = 9;
constexpr double kLine = 17;
constexpr double kTitle = 24;
constexpr double kWidestValue = 340;
constexpr double kChip = 10;

/// Values in lines that fit a narrow window; a line that goes on has no name.
std::vector<Fact> inLines(const std::vector<Fact>& facts) {
  std::vector<Fact> lines;
  for (const Fact& fact : facts) {
    QString name = fact.name;
    QStringList values = brokenInto(fact.value, kWidestValue, FontRole::kSmall);
    if (values.isEmpty()) {
      values << QString();
    }
    for (const QString& value : std::as_const(values)) {
      lines.push_back({std::exchange(name, QString()), value});
    }
  }
  return lines;
}

}  // namespace

QRectF drawCardGround(DisplayList& list, QSizeF size, QPointF pointer, QSizeF card,
                      const Palette& palette) {
  constexpr double kEdge = 4;
  QPointF at = pointer + QPointF(16, 18);
  if (at.x() + card.width() > size.width() - kEdge) {
    at.setX(pointer.x() - card.width() - 12);
  }
  if (at.y() + card.height() > size.height() - kEdge) {
    at.setY(pointer.y() - card.height() - 12);
  }
  const QPointF last(std::max(kEdge, size.width() - card.width() - kEdge),
                     std::max(kEdge, size.height() - card.height() - kEdge));
  const QRectF rect(QPointF(std::clamp(std::round(at.x()), kEdge, last.x()),
                            std::clamp(std::round(at.y()), kEdge, last.y())),
                    card);
  QColor shadow(Qt::black);
  shadow.setAlphaF(0.18f);
  list.fill(rect.translated(0, 2).adjusted(-1, -1, 1, 2), shadow, 6);
  list.fill(rect, palette.surface, 5);
  list.outline(rect, palette.gridStrong, 5);
  return rect;
}

void drawFactCard(DisplayList& list, QSizeF size, QPointF pointer, const QString& title,
                  const QColor& chip, const std::vector<Fact>& facts, const Palette& palette) {
  const std::vector<Fact> lines = inLines(facts);
  double names = 0;
  double values = 0;
  for (const Fact& fact : lines) {
    names = std::max(names, textWidth(fact.name, FontRole::kSmall));
    values = std::max(values, textWidth(fact.value, FontRole::kSmall));
  }
  const double before = chip.isValid() ? kChip + 6 : 0;
  const double inner =
      std::max(names + 14 + values, before + textWidth(title, FontRole::kBold) + 2) + 4;
  const QRectF card = drawCardGround(
      list, size, pointer,
      {inner + 2 * kPadding, kTitle + kLine * static_cast<double>(lines.size()) + kPadding},
      palette);
  const double left = card.left() + kPadding;
  if (chip.isValid()) {
    list.fill(QRectF(left, card.top() + 8, kChip, kChip), chip, 2);
  }
  list.text(QRectF(left + before, card.top() + 2, inner - before, kTitle - 2), title, palette.text,
            FontRole::kBold);
  double y = card.top() + kTitle;
  for (const Fact& fact : lines) {
    list.text(QRectF(left, y, names + 2, kLine), fact.name, palette.textMuted, FontRole::kSmall);
    list.text(QRectF(left + names + 14, y, values + 4, kLine), fact.value, palette.text,
              FontRole::kSmall);
    y += kLine;
  }
}

void drawMessage(DisplayList& list, const QRectF& area, const QString& title, const QString& more,
                 const QColor& colour, const Palette& palette) {
  constexpr double kFirstLine = 26;
  constexpr double kMoreLine = 20;
  const QStringList lines =
      brokenInto(more, std::min(area.width() - 24, 640.0), FontRole::kNormal);
  const double height = kFirstLine + kMoreLine * static_cast<double>(lines.size());
  double y = std::max(area.top(), area.center().y() - height / 2);
  const auto centred = Qt::AlignHCenter | Qt::AlignVCenter;
  list.text(QRectF(area.left() + 8, y, area.width() - 16, 24), title, colour, FontRole::kBold,
            centred);
  y += kFirstLine;
  for (const QString& line : lines) {
    list.text(QRectF(area.left() + 8, y, area.width() - 16, kMoreLine), line, palette.textMuted,
              FontRole::kNormal, centred);
    y += kMoreLine;
  }
}

}  // namespace lockstep::ui
