#include "ui/shell/Card.h"

#include <QPainter>

#include "ui/panels/CurrentPalette.h"

namespace lockstep::ui {

Card::Card(bool primary, QWidget* parent) : QFrame(parent), primary_(primary) {}

void Card::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(primary_ ? currentAccent() : currentPalette().gridStrong,
                      primary_ ? 2.0 : 1.0));
  painter.setBrush(palette().color(QPalette::Base));
  // Pens cover whole pixels: one is 1 wide, the other 2.
  const qreal inset = primary_ ? 1.0 : 0.5;
  painter.drawRoundedRect(QRectF(rect()).adjusted(inset, inset, -inset, -inset), 6, 6);
}

}  // namespace lockstep::ui
