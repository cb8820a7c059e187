#include "ui/shell/Icons.h"

#include <QApplication>
#include <QIconEngine>
#include <QPainter>
#include <QPalette>

#include "ui/panels/CurrentPalette.h"

namespace lockstep::ui {
namespace {

// Glyphs are drawn on a grid of 16 by 16.
void drawGlyph(QPainter& painter, Glyph glyph, const QColor& ink, bool enabled) {
  const Palette& colors = currentPalette();
  const auto tint = [&](const QColor& color) { return enabled ? color : ink; };
  QPen pen(ink, 1.6, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin);
  painter.setPen(pen);
  painter.setBrush(Qt::NoBrush);
  const auto polygon = [&](std::initializer_list<QPointF> points, const QColor& fill) {
    painter.setPen(QPen(fill, 1.2, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.setBrush(fill);
    painter.drawPolygon(QPolygonF(points));
  };
  switch (glyph) {
    case Glyph::kRun: polygon({{4.5, 3}, {13, 8}, {4.5, 13}}, tint(colors.good)); break;
    case Glyph::kStop: polygon({{4, 4}, {12, 4}, {12, 12}, {4, 12}}, tint(colors.error)); break;
    case Glyph::kRepeat:
      painter.drawArc(QRectF(3, 3, 10, 10), 40 * 16, 280 * 16);
      polygon({{11.2, 1.6}, {13.8, 5.6}, {9.2, 5.4}}, ink);
      break;
    case Glyph::kFollow:
      painter.drawLine(QPointF(2.5, 8), QPointF(9, 8));
      polygon({{7.5, 4.5}, {11.5, 8}, {7.5, 11.5}}, ink);
      painter.setPen(QPen(ink, 1.8, Qt::SolidLine, Qt::RoundCap));
      painter.drawLine(QPointF(13.5, 3.5), QPointF(13.5, 12.5));
      break;
    case Glyph::kPrevious: polygon({{10.5, 3.5}, {5, 8}, {10.5, 12.5}}, ink); break;
    case Glyph::kNext: polygon({{5.5, 3.5}, {11, 8}, {5.5, 12.5}}, ink); break;
    case Glyph::kFit:
      painter.drawLine(QPointF(2, 3.5), QPointF(2, 12.5));
      painter.drawLine(QPointF(14, 3.5), QPointF(14, 12.5));
      painter.drawLine(QPointF(4.5, 8), QPointF(11.5, 8));
      painter.drawPolyline(QPolygonF({{6.5, 5.8}, {4.5, 8}, {6.5, 10.2}}));
      painter.drawPolyline(QPolygonF({{9.5, 5.8}, {11.5, 8}, {9.5, 10.2}}));
      break;
    case Glyph::kOpen:
      painter.drawPolyline(
          QPolygonF({{2, 12.5}, {2, 3.5}, {6, 3.5}, {7.5, 5.5}, {13.5, 5.5}, {13.5, 12.5}, {2, 12.5}}));
      break;
    case Glyph::kPicture:
      painter.drawRoundedRect(QRectF(2, 3, 12, 10), 1, 1);
      painter.drawPolyline(QPolygonF({{3.5, 11.5}, {6.5, 7.5}, {8.8, 10}, {10.5, 8.5}, {12.8, 11.5}}));
      painter.drawEllipse(QPointF(10.6, 5.8), 0.9, 0.9);
      break;
    case Glyph::kCheck:
      painter.setPen(QPen(tint(colors.good), 2, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
      painter.drawPolyline(QPolygonF({{3, 8.5}, {6.5, 12}, {13, 4.5}}));
      break;
    case Glyph::kCross:
      painter.setPen(QPen(tint(colors.error), 2, Qt::SolidLine, Qt::RoundCap));
      painter.drawLine(QPointF(4, 4), QPointF(12, 12));
      painter.drawLine(QPointF(12, 4), QPointF(4, 12));
      break;
    case Glyph::kInfo:
      painter.setPen(QPen(tint(currentAccent()), 1.5, Qt::SolidLine, Qt::RoundCap));
      painter.drawEllipse(QRectF(2, 2, 12, 12));
      painter.drawLine(QPointF(8, 7.5), QPointF(8, 11));
      painter.drawPoint(QPointF(8, 5));
      break;
    case Glyph::kWarning:
      painter.setPen(
          QPen(tint(colors.warning), 1.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
      painter.drawPolygon(QPolygonF({{8, 2.2}, {14.2, 13.2}, {1.8, 13.2}}));
      painter.drawLine(QPointF(8, 6.5), QPointF(8, 9.5));
      painter.drawPoint(QPointF(8, 11.5));
      break;
  }
}

// Asked by Qt for each size, scale and state when it is needed; so an icon follows a change of
// theme by itself. A pixmap that was taken from it does not (StartPage, MessageBar).
class GlyphEngine : public QIconEngine {
 public:
  explicit GlyphEngine(Glyph glyph) : glyph_(glyph) {}

  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State /*state*/) override {
    const bool enabled = mode != QIcon::Disabled;
    const QPalette palette = QApplication::palette();
    const QColor ink = palette.color(enabled ? QPalette::Active : QPalette::Disabled,
                                     QPalette::WindowText);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const qreal side = qMin(rect.width(), rect.height());
    painter->translate(rect.x() + (rect.width() - side) / 2, rect.y() + (rect.height() - side) / 2);
    painter->scale(side / 16, side / 16);
    drawGlyph(*painter, glyph_, ink, enabled);
    painter->restore();
  }

  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
    QPixmap pixmap(size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    paint(&painter, QRect(QPoint(0, 0), size), mode, state);
    return pixmap;
  }

  QIconEngine* clone() const override { return new GlyphEngine(glyph_); }

 private:
  Glyph glyph_;
};

}  // namespace

QIcon icon(Glyph glyph) { return QIcon(new GlyphEngine(glyph)); }

}  // namespace lockstep::ui
