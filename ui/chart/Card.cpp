#include "ui/chart/Card.h"

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
std::vector<CardLine> inLines(const std::vector<CardLine>& facts) {
  std::vector<CardLine> lines;
  for (const CardLine& line : facts) {
    QStringList values = brokenInto(line.fact.value, kWidestValue, FontRole::kSmall);
    if (values.isEmpty()) {
      values << QString();
    }
    lines.emplace_back(line.fact.name, values.takeFirst(), line.swatch);
    for (const QString& value : std::as_const(values)) {
      lines.emplace_back(QString(), value);
    }
  }
  return lines;
}

/// Draws the empty ground of a card beside the pointer, and returns where it is.
QRectF drawGround(DisplayList& list, QSizeF size, QPointF pointer, QSizeF card,
                  const Palette& palette) {
  // Beside the pointer, below and right of it; on the other side where there is no room; and pushed
  // into the canvas where there is none there either.
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
  list.fill(rect.translated(0, 2).adjusted(-1, -1, 1, 2), withAlpha(Qt::black, 0.18f), 6);
  list.fill(rect, palette.surface, 5);
  list.outline(rect, palette.gridStrong, 5);
  return rect;
}

}  // namespace

void drawCard(DisplayList& list, QSizeF size, QPointF pointer, const Card& card,
              const Palette& palette) {
  const std::vector<CardLine> lines = inLines(card.lines);
  QStringList words;
  for (const QString& sentence : card.sentences) {
    words << brokenInto(sentence, kWidestValue, FontRole::kSmall);
  }
  double names = 0;
  double values = 0;
  double swatches = 0;
  for (const CardLine& line : lines) {
    names = std::max(names, textWidth(line.fact.name, FontRole::kSmall));
    values = std::max(values, textWidth(line.fact.value, FontRole::kSmall));
    swatches = line.swatch.colour.isValid() ? kChip + 6 : swatches;
  }
  const double before = card.chip.isValid() ? kChip + 6 : 0;
  double inner =
      std::max(swatches + names + 14 + values, before + textWidth(card.title, FontRole::kBold) + 2);
  for (const QString& line : words) {
    inner = std::max(inner, textWidth(line, FontRole::kSmall));
  }
  inner += 4;
  const double gap = words.isEmpty() ? 0 : 4;
  const double below = kLine * static_cast<double>(lines.size() + words.size()) + gap;
  const QRectF ground =
      drawGround(list, size, pointer, {inner + 2 * kPadding, kTitle + below + kPadding}, palette);
  const double left = ground.left() + kPadding;
  if (card.chip.isValid()) {
    list.fill(QRectF(left, ground.top() + 8, kChip, kChip), card.chip, 2);
  }
  list.title(QRectF(left + before, ground.top() + 2, inner - before, kTitle - 2), card.title,
             palette);
  double y = ground.top() + kTitle;
  for (const CardLine& line : lines) {
    if (line.swatch.colour.isValid()) {
      drawSwatch(list, QRectF(left, y + 4, kChip, kChip), line.swatch);
    }
    list.note(QRectF(left + swatches, y, names + 2, kLine), line.fact.name, palette);
    list.label(QRectF(left + swatches + names + 14, y, values + 4, kLine), line.fact.value,
               palette);
    y += kLine;
  }
  list.lines(QRectF(left, y + gap, inner, kLine), words, palette.text);
}

void drawFactCard(DisplayList& list, QSizeF size, QPointF pointer, const QString& title,
                  const QColor& chip, const std::vector<Fact>& facts, const Palette& palette) {
  drawCard(list, size, pointer, {title, chip, {facts.begin(), facts.end()}, {}}, palette);
}

void drawTile(DisplayList& list, const QRectF& rect, const Palette& palette, bool under) {
  list.fill(rect, under ? palette.raised : palette.surface, 6);
  list.outline(rect, under ? palette.hover : palette.gridStrong, 6);
}

void drawMessage(DisplayList& list, const QRectF& area, const QString& title, const QString& more,
                 const QColor& colour, const Palette& palette) {
  constexpr double kFirstLine = 26;
  constexpr double kMoreLine = 20;
  const QStringList lines = brokenInto(more, std::min(area.width() - 24, 640.0), FontRole::kNormal);
  const double height = kFirstLine + kMoreLine * static_cast<double>(lines.size());
  double y = std::max(area.top(), area.center().y() - height / 2);
  const auto centred = Qt::AlignCenter;
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
