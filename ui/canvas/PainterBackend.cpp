#include "ui/canvas/PainterBackend.h"

#include <QPainter>
#include <cmath>

#include "ui/canvas/Hatching.h"
#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

using Op = DisplayList::Op;
using Command = DisplayList::Command;

class Drawing {
 public:
  Drawing(const DisplayList& list, QPainter& painter) : list_(list), painter_(painter) {}

  void draw(const Command& command) {
    const QColor colour = QColor::fromRgba(command.colour);
    switch (command.op) {
      case Op::kFill: fill(command, colour); break;
      case Op::kOutline: outline(command, colour); break;
      case Op::kHatch: hatch(command, colour); break;
      case Op::kLine: line(command, colour); break;
      case Op::kPolyline: polyline(command, colour); break;
      case Op::kPolygon: polygon(command, colour); break;
      case Op::kText: text(command, colour); break;
      case Op::kClip:
        painter_.save();
        painter_.setClipRect(command.rect, Qt::IntersectClip);
        break;
      case Op::kUnclip: painter_.restore(); break;
    }
  }

 private:
  void fill(const Command& command, const QColor& colour) {
    if (command.width <= 0) {
      painter_.fillRect(command.rect, colour);
      return;
    }
    painter_.setRenderHint(QPainter::Antialiasing, true);
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(colour);
    painter_.drawRoundedRect(command.rect, command.width, command.width);
  }

  void outline(const Command& command, const QColor& colour) {
    const bool rounded = command.width > 0;
    painter_.setRenderHint(QPainter::Antialiasing, true);
    QPen pen(colour, 1);
    pen.setJoinStyle(Qt::MiterJoin);
    painter_.setPen(pen);
    painter_.setBrush(Qt::NoBrush);
    const QRectF inner = command.rect.adjusted(0.5, 0.5, -0.5, -0.5);
    if (rounded) {
      painter_.drawRoundedRect(inner, command.width, command.width);
    } else {
      painter_.drawRect(inner);
    }
  }

  void hatch(const Command& command, const QColor& colour) {
    painter_.setRenderHint(QPainter::Antialiasing, true);
    painter_.setPen(QPen(colour, kHatchWidth));
    forEachHatchLine(command.rect, [&](QPointF from, QPointF to) {
      painter_.drawLine(from, to);
    });
  }

  void line(const Command& command, const QColor& colour) {
    const QPointF from = command.rect.topLeft();
    const QPointF to = command.rect.bottomRight();
    const bool straight = from.x() == to.x() || from.y() == to.y();
    painter_.setRenderHint(QPainter::Antialiasing, !straight);
    QPen pen(colour, command.width);
    pen.setCapStyle(Qt::FlatCap);
    painter_.setPen(pen);
    painter_.drawLine(from, to);
  }

  void polyline(const Command& command, const QColor& colour) {
    painter_.setRenderHint(QPainter::Antialiasing, true);
    painter_.setPen(QPen(colour, command.width, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter_.drawPolyline(list_.points().data() + command.first, static_cast<int>(command.count));
  }

  void polygon(const Command& command, const QColor& colour) {
    painter_.setRenderHint(QPainter::Antialiasing, true);
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(colour);
    painter_.drawConvexPolygon(list_.points().data() + command.first,
                               static_cast<int>(command.count));
  }

  void text(const Command& command, const QColor& colour) {
    const QFontMetricsF& metrics = canvasFontMetrics(command.font);
    const QString& whole = list_.textOf(command);
    QString shown = whole;
    double width = metrics.horizontalAdvance(whole);
    if (width > command.rect.width() + 0.5) {
      shown = metrics.elidedText(whole, Qt::ElideRight, command.rect.width());
      if (shown.size() < 3) {  // one letter and the dots tell nothing
        return;
      }
      width = metrics.horizontalAdvance(shown);
    }
    double x = command.rect.left();
    if ((command.alignment & Qt::AlignRight) != 0) {
      x = command.rect.right() - width;
    } else if ((command.alignment & Qt::AlignHCenter) != 0) {
      x = command.rect.left() + (command.rect.width() - width) / 2;
    }
    double top = command.rect.top();
    if ((command.alignment & Qt::AlignBottom) != 0) {
      top = command.rect.bottom() - metrics.height();
    } else if ((command.alignment & Qt::AlignTop) == 0) {
      top += (command.rect.height() - metrics.height()) / 2;
    }
    painter_.setFont(canvasFont(command.font));
    painter_.setPen(colour);
    painter_.drawText(QPointF(x, std::round(top + metrics.ascent())), shown);
  }

  const DisplayList& list_;
  QPainter& painter_;
};

}  // namespace

void paint(const DisplayList& list, QPainter& painter) {
  painter.save();
  Drawing drawing(list, painter);
  for (const Command& command : list.commands()) {
    drawing.draw(command);
  }
  painter.restore();
}

}  // namespace lockstep::ui
