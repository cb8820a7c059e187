#include "ui/shell/FlatShapes.h"

#include <QPainter>
#include <QTabBar>
#include <algorithm>

#include "ui/canvas/Palette.h"

namespace lockstep::ui {
namespace {

constexpr qreal kTabLine = 2;

bool under(const QStyleOption& option) {
  return option.state.testFlag(QStyle::State_MouseOver) &&
         option.state.testFlag(QStyle::State_Enabled);
}

bool focused(const QStyleOption& option) { return option.state.testFlag(QStyle::State_HasFocus); }

/// Whether the keyboard was led there: who clicks knows where he is.
bool ledTo(const QStyleOption& option) {
  return focused(option) && option.state.testFlag(QStyle::State_KeyboardFocusChange);
}

/// The outline of something that is off, on, or half on.
void drawMarkBox(QPainter& painter, const QStyleOption& option, const QRectF& box, qreal rounding) {
  const bool on = !option.state.testFlag(QStyle::State_Off);
  const bool enabled = option.state.testFlag(QStyle::State_Enabled);
  const QColor accent = enabled ? accentOf(option.palette) : outlineOf(option.palette);
  painter.setPen(QPen(on || focused(option) || under(option) ? accent : outlineOf(option.palette),
                      1.2));
  painter.setBrush(on ? accent : option.palette.color(QPalette::Base));
  painter.drawRoundedRect(box, rounding, rounding);
}

QRectF squareIn(const QRect& rect) {
  const qreal side = std::min(rect.width(), rect.height()) - 1.0;
  QRectF square(0, 0, side, side);
  square.moveCenter(QRectF(rect).center());
  return square;
}

}  // namespace

QColor accentOf(const QPalette& palette) { return palette.color(QPalette::Active, QPalette::Link); }

QColor outlineOf(const QPalette& palette) { return palette.color(QPalette::Mid); }

QColor washOf(const QPalette& palette, float part) {
  return withAlpha(palette.color(QPalette::Active, QPalette::WindowText), part);
}

void drawBox(QPainter& painter, const QRectF& rect, const QColor& fill, const QPen& outline) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(outline);
  painter.setBrush(fill);
  const qreal half = outline.style() == Qt::NoPen ? 0 : outline.widthF() / 2;
  painter.drawRoundedRect(rect.adjusted(half, half, -half, -half), kRounding, kRounding);
  painter.restore();
}

void drawPushBox(QPainter& painter, const QStyleOption& option, bool first) {
  const QPalette& palette = option.palette;
  const bool pushed = option.state & (QStyle::State_Sunken | QStyle::State_On);
  const bool enabled = option.state.testFlag(QStyle::State_Enabled);
  QColor fill = palette.color(QPalette::Button);
  if (first && enabled) {
    fill = mixed(accentOf(palette), fill, 0.14);
  }
  if (pushed || under(option)) {
    fill = mixed(palette.color(QPalette::WindowText), fill, pushed ? 0.14 : 0.06);
  }
  const bool ringed = enabled && (first || ledTo(option));
  drawBox(painter, option.rect, fill,
          QPen(ringed ? accentOf(palette) : outlineOf(palette), ledTo(option) ? 2 : 1));
}

void drawFieldBox(QPainter& painter, const QStyleOption& option) {
  const bool enabled = option.state.testFlag(QStyle::State_Enabled);
  const bool ringed = enabled && focused(option);
  drawBox(painter, option.rect,
          option.palette.color(enabled ? QPalette::Base : QPalette::Window),
          QPen(ringed ? accentOf(option.palette) : outlineOf(option.palette), ringed ? 2 : 1));
}

void drawChevron(QPainter& painter, const QRectF& rect, qreal degrees, const QColor& ink) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.translate(rect.center());
  painter.rotate(degrees);
  painter.setPen(QPen(ink, 1.4, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  const qreal half = std::min({3.5, rect.width() / 3, rect.height() / 2});
  painter.drawPolyline(QPolygonF({{-half, -half / 2}, {0, half / 2}, {half, -half / 2}}));
  painter.restore();
}

void drawTab(QPainter& painter, const QStyleOptionTab& tab) {
  const QRectF rect = tab.rect;
  const bool below = tab.shape == QTabBar::RoundedSouth || tab.shape == QTabBar::TriangularSouth;
  const auto edge = [&](qreal width) {
    return QRectF(rect.left(), below ? rect.top() : rect.bottom() - width, rect.width(), width);
  };
  if (tab.state.testFlag(QStyle::State_Selected)) {
    painter.fillRect(rect, tab.palette.color(QPalette::Base));
    painter.fillRect(edge(kTabLine), accentOf(tab.palette));
  } else {
    if (under(tab)) {
      painter.fillRect(rect, washOf(tab.palette, 0.06F));
    }
    painter.fillRect(edge(1), outlineOf(tab.palette));
  }
}

void drawCheckBox(QPainter& painter, const QStyleOption& option) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF box = squareIn(option.rect);
  drawMarkBox(painter, option, box, kRounding - 1);
  painter.setPen(QPen(Palette::textOn(accentOf(option.palette)), 1.8, Qt::SolidLine, Qt::RoundCap,
                      Qt::RoundJoin));
  const auto at = [&](qreal x, qreal y) {
    return box.topLeft() + QPointF(x * box.width(), y * box.height());
  };
  if (option.state.testFlag(QStyle::State_On)) {
    painter.drawPolyline(QPolygonF({at(0.24, 0.54), at(0.43, 0.72), at(0.76, 0.3)}));
  } else if (option.state.testFlag(QStyle::State_NoChange)) {
    painter.drawLine(at(0.28, 0.5), at(0.72, 0.5));
  }
  painter.restore();
}

void drawRadioButton(QPainter& painter, const QStyleOption& option) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF box = squareIn(option.rect);
  drawMarkBox(painter, option, box, box.width() / 2);
  if (option.state.testFlag(QStyle::State_On)) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(Palette::textOn(accentOf(option.palette)));
    painter.drawEllipse(box.center(), box.width() * 0.2, box.width() * 0.2);
  }
  painter.restore();
}

void drawScrollHandle(QPainter& painter, const QStyleOption& option, const QRectF& rect) {
  const bool held = option.state.testFlag(QStyle::State_Sunken) || under(option);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(washOf(option.palette, held ? 0.45F : 0.25F));
  const QRectF handle = rect.adjusted(2.5, 2.5, -2.5, -2.5);
  const qreal rounding = std::min(handle.width(), handle.height()) / 2;
  painter.drawRoundedRect(handle, rounding, rounding);
  painter.restore();
}

}  // namespace lockstep::ui
