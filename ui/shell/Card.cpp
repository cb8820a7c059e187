#include "ui/shell/Card.h"

#include <QPainter>

#include "ui/panels/CurrentPalette.h"

namespace lockstep::ui {

Card::Card(bool primary, QWidget* parent) : QFrame(parent), primary_(primary) {}

void Card::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(primary_ ? currentAccent() : currentPalette().gridStrong,
                      primary_ ? 1.5 : 1.0));
  painter.setBrush(palette().color(QPalette::Base));
  painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 6, 6);
}

}  // namespace lockstep::ui
