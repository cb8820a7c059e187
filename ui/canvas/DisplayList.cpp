#include "ui/canvas/DisplayList.h"

#include "ui/canvas/Palette.h"

namespace lockstep::ui {

DisplayList::Command& DisplayList::add(Op op, const QRectF& rect, const QColor& colour) {
  Command& command = commands_.emplace_back();
  command.op = op;
  command.rect = rect;
  command.colour = colour.rgba();
  return command;
}

void DisplayList::fill(const QRectF& rect, const QColor& colour, double radius) {
  add(Op::kFill, rect, colour).width = static_cast<float>(radius);
}

void DisplayList::outline(const QRectF& rect, const QColor& colour, double radius) {
  add(Op::kOutline, rect, colour).width = static_cast<float>(radius);
}

void DisplayList::hatch(const QRectF& rect, const QColor& colour) {
  add(Op::kHatch, rect, colour);
}

void DisplayList::line(QPointF from, QPointF to, const QColor& colour, double width) {
  add(Op::kLine, QRectF(from, to), colour).width = static_cast<float>(width);
}

void DisplayList::polyline(const std::vector<QPointF>& points, const QColor& colour,
                           double width) {
  // All points of a frame stand in one vector: thousands of small ones would cost an allocation
  // each.
  Command& command = add(Op::kPolyline, QRectF(), colour);
  command.width = static_cast<float>(width);
  command.first = static_cast<std::uint32_t>(points_.size());
  command.count = static_cast<std::uint32_t>(points.size());
  points_.insert(points_.end(), points.begin(), points.end());
}

void DisplayList::polygon(const std::vector<QPointF>& points, const QColor& colour) {
  Command& command = add(Op::kPolygon, QRectF(), colour);
  command.first = static_cast<std::uint32_t>(points_.size());
  command.count = static_cast<std::uint32_t>(points.size());
  points_.insert(points_.end(), points.begin(), points.end());
}

void DisplayList::text(const QRectF& rect, const QString& text, const QColor& colour,
                       FontRole font, Qt::Alignment alignment) {
  Command& command = add(Op::kText, rect, colour);
  command.font = font;
  command.alignment = alignment.toInt();
  command.first = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(text);
}

void DisplayList::title(const QRectF& rect, const QString& text, const Palette& palette) {
  this->text(rect, text, palette.text, FontRole::kBold);
}

void DisplayList::label(const QRectF& rect, const QString& text, const Palette& palette,
                        Qt::Alignment alignment) {
  this->text(rect, text, palette.text, FontRole::kSmall, alignment);
}

void DisplayList::note(const QRectF& rect, const QString& text, const Palette& palette,
                       Qt::Alignment alignment) {
  this->text(rect, text, palette.textMuted, FontRole::kSmall, alignment);
}

void DisplayList::lines(QRectF line, const QStringList& lines, const QColor& colour) {
  for (const QString& words : lines) {
    text(line, words, colour, FontRole::kSmall);
    line.translate(0, line.height());
  }
}

void DisplayList::clip(const QRectF& rect) { add(Op::kClip, rect, QColor()); }

void DisplayList::unclip() { add(Op::kUnclip, QRectF(), QColor()); }

void DisplayList::append(const DisplayList& other, QPointF offset) {
  const auto points = static_cast<std::uint32_t>(points_.size());
  const auto texts = static_cast<std::uint32_t>(texts_.size());
  for (Command command : other.commands_) {
    command.rect.translate(offset);
    // Fills and lines have neither points nor texts; what their `first` says is not read.
    command.first += command.op == Op::kText ? texts : points;
    commands_.push_back(command);
  }
  for (const QPointF& point : other.points_) {
    points_.push_back(point + offset);
  }
  texts_.insert(texts_.end(), other.texts_.begin(), other.texts_.end());
}

void DisplayList::clear() {
  commands_.clear();
  points_.clear();
  texts_.clear();
}

}  // namespace lockstep::ui
