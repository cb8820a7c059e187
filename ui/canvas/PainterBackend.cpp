#include "ui/canvas/PainterBackend.h"

#include <QGuiApplication>
#include <QHash>
#include <QImage>
#include <QPaintEngine>
#include <QPainter>
#include <QStaticText>
#include <array>
#include <cmath>
#include <utility>

#include "ui/canvas/Hatching.h"
#include "ui/canvas/TextMetrics.h"

namespace lockstep::ui {
namespace {

using Op = DisplayList::Op;
using Command = DisplayList::Command;

constexpr double kSmallRadius = 3;  // of corners that are cut and not curved
constexpr qsizetype kTilesKept = 256;
constexpr qsizetype kTextsKept = 4096;

// One period of the hatch in device pixels, for a brush; lines would cost a path each.
const QImage& hatchTile(QRgb colour, int pixels) {
  // Never freed, like the fonts: static objects outlive the application.
  static auto& tiles = *new QHash<std::pair<QRgb, int>, QImage>;
  if (const auto known = tiles.constFind({colour, pixels}); known != tiles.cend()) {
    return *known;
  }
  // Colours come from palettes, so there are a few dozen; zooming the screen may bring more.
  if (tiles.size() >= kTilesKept) {
    tiles.clear();
  }
  QImage tile(pixels, pixels, QImage::Format_ARGB32_Premultiplied);
  tile.fill(Qt::transparent);
  QPainter painter(&tile);
  painter.setRenderHint(QPainter::Antialiasing, true);
  const double scale = pixels / kHatchStep;
  painter.scale(scale, scale);
  painter.setPen(QPen(QColor::fromRgba(colour), kHatchWidth));
  // Longer than the tile, so that its neighbours go on where it ends.
  forEachHatchLine(QRectF(-kHatchStep, -kHatchStep, 3 * kHatchStep, 3 * kHatchStep),
                   [&](QPointF from, QPointF to) { painter.drawLine(from, to); });
  painter.end();
  return *tiles.insert({colour, pixels}, tile);
}

// A text with its glyphs, which need not be found anew in each frame.
QStaticText& laidOut(const QString& text, FontRole role) {
  static auto& texts = *new std::array<QHash<QString, QStaticText>, kFontRoles>;
  static auto& application = *new QFont;
  // The user may choose another font while the studio runs.
  if (application != QGuiApplication::font()) {
    application = QGuiApplication::font();
    for (auto& known : texts) known.clear();
  }
  auto& known = texts[static_cast<std::size_t>(role)];
  if (const auto at = known.find(text); at != known.end()) {
    return *at;
  }
  // All at once: finding the one that is longest unused would cost at every look-up.
  if (known.size() >= kTextsKept) {
    known.clear();
  }
  QStaticText made(text);
  made.setTextFormat(Qt::PlainText);
  return *known.insert(text, made);
}

// Note [Fast raster]
//
// Without hardware GL a canvas is painted by QPainter on the processor, some thousand commands a
// frame, so what is done for each command decides how smooth a timeline moves. The means here, all
// of which only change the cost and not the picture:
//
// - antialiasing is off where edges are on whole pixels, and is set only when it changes
//   (smooth());
// - small rounded corners are three plain rectangles (fill());
// - a hatch is a tiled brush (hatchTile()), a text is laid out once (laidOut());
// - fonts, metrics and widths are looked up in tables (TextMetrics.cpp).
//
// SVG and PDF get curves, lines and texts as such instead: `raster_` tells them apart.
class PainterDrawing {
 public:
  PainterDrawing(const DisplayList& list, QPainter& painter)
      : list_(list), painter_(painter),
        raster_(painter.paintEngine() != nullptr &&
                painter.paintEngine()->type() == QPaintEngine::Raster),
        scale_(painter.deviceTransform().m11()) {}

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
      case Op::kUnclip:
        // restore() also took back the hint that smooth() remembers.
        painter_.restore();
        told_ = false;
        break;
    }
  }

 private:
  void smooth(bool wanted) {
    if (!told_ || smooth_ != wanted) {
      told_ = true;
      smooth_ = wanted;
      painter_.setRenderHint(QPainter::Antialiasing, wanted);
    }
  }

  void fill(const Command& command, const QColor& colour) {
    const QRectF& rect = command.rect;
    if (command.width <= 0) {
      smooth(false);
      painter_.fillRect(rect, colour);
      return;
    }
    if (raster_ && command.width <= kSmallRadius && rect.width() > 2 && rect.height() > 2) {
      // At these sizes a corner is a pixel that is missing.
      smooth(false);
      const double left = std::round(rect.left());
      const double right = std::round(rect.right());
      const double top = rect.top() + 1;
      painter_.fillRect(QRectF(left + 1, rect.top(), right - left - 2, rect.height()), colour);
      painter_.fillRect(QRectF(left, top, 1, rect.height() - 2), colour);
      painter_.fillRect(QRectF(right - 1, top, 1, rect.height() - 2), colour);
      return;
    }
    smooth(true);
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(colour);
    painter_.drawRoundedRect(command.rect, command.width, command.width);
  }

  void outline(const Command& command, const QColor& colour) {
    const bool rounded = command.width > 0;
    smooth(true);
    QPen pen(colour, 1);
    pen.setJoinStyle(Qt::MiterJoin);
    painter_.setPen(pen);
    painter_.setBrush(Qt::NoBrush);
    // The middle of a line of one pixel, so that all of it lies inside the rectangle.
    const QRectF inner = command.rect.adjusted(0.5, 0.5, -0.5, -0.5);
    if (rounded) {
      painter_.drawRoundedRect(inner, command.width, command.width);
    } else {
      painter_.drawRect(inner);
    }
  }

  void hatch(const Command& command, const QColor& colour) {
    const double period = kHatchStep * scale_;
    // A tile has whole device pixels: with a ratio such as 1.25 lines would jump at its edges.
    if (raster_ && period >= 1 && std::abs(period - std::round(period)) < 1e-6) {
      smooth(false);
      QBrush brush(hatchTile(command.colour, static_cast<int>(std::lround(period))));
      // The brush counts in device pixels, the painter in logical ones.
      brush.setTransform(QTransform::fromScale(1 / scale_, 1 / scale_));
      painter_.fillRect(command.rect, brush);
      return;
    }
    smooth(true);
    painter_.setPen(QPen(colour, kHatchWidth));
    forEachHatchLine(command.rect, [&](QPointF from, QPointF to) {
      painter_.drawLine(from, to);
    });
  }

  void line(const Command& command, const QColor& colour) {
    const QPointF from = command.rect.topLeft();
    const QPointF to = command.rect.bottomRight();
    // Edges of straight lines lie on pixels; antialiasing would smear them over two.
    const bool straight = from.x() == to.x() || from.y() == to.y();
    smooth(!straight);
    QPen pen(colour, command.width);
    pen.setCapStyle(Qt::FlatCap);
    painter_.setPen(pen);
    painter_.drawLine(from, to);
  }

  void polyline(const Command& command, const QColor& colour) {
    smooth(true);
    painter_.setPen(QPen(colour, command.width, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter_.drawPolyline(list_.points().data() + command.first, static_cast<int>(command.count));
  }

  void polygon(const Command& command, const QColor& colour) {
    smooth(true);
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(colour);
    painter_.drawConvexPolygon(list_.points().data() + command.first,
                               static_cast<int>(command.count));
  }

  void text(const Command& command, const QColor& colour) {
    const QFontMetricsF& metrics = canvasFontMetrics(command.font);
    const QString& whole = list_.textOf(command);
    QString shown = whole;
    double width = textWidth(whole, command.font);
    // Half a pixel of slack for what was measured to fit exactly.
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
    // Whole pixels, so that the letters of a row stand on one line whatever their rectangles.
    const double baseline = std::round(top + metrics.ascent());
    if (raster_) {
      painter_.drawStaticText(QPointF(x, baseline - metrics.ascent()),
                              laidOut(shown, command.font));
    } else {
      painter_.drawText(QPointF(x, baseline), shown);
    }
  }

  const DisplayList& list_;
  QPainter& painter_;
  const bool raster_;
  const double scale_;          // device pixels a logical pixel
  bool told_ = false;    // the painter, since its state was last restored
  bool smooth_ = false;  // what it was told
};

}  // namespace

void paint(const DisplayList& list, QPainter& painter) {
  painter.save();
  PainterDrawing drawing(list, painter);
  for (const Command& command : list.commands()) {
    drawing.draw(command);
  }
  painter.restore();
}

}  // namespace lockstep::ui
