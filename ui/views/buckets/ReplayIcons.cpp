#include "ui/views/buckets/ReplayIcons.h"

#include <QPainter>
#include <QPixmap>
#include <QPolygonF>

namespace lockstep::ui {
namespace {

constexpr int kSize = 16;   // logical pixels
constexpr int kFinest = 3;  // drawn for screens of up to 300 %

}  // namespace

QIcon replayIcon(ReplayIcon icon, const QColor& colour) {
  QPixmap pixmap(kSize * kFinest, kSize * kFinest);
  pixmap.setDevicePixelRatio(kFinest);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(colour);
  switch (icon) {
    case ReplayIcon::kPlay:
      painter.drawPolygon(QPolygonF({{4, 2}, {14, 8}, {4, 14}}));
      break;
    case ReplayIcon::kPause:
      painter.drawRect(QRectF(4, 2, 3, 12));
      painter.drawRect(QRectF(9, 2, 3, 12));
      break;
    case ReplayIcon::kBack:
      painter.drawRect(QRectF(3, 3, 2, 10));
      painter.drawPolygon(QPolygonF({{13, 3}, {13, 13}, {6, 8}}));
      break;
    case ReplayIcon::kForward:
      painter.drawRect(QRectF(11, 3, 2, 10));
      painter.drawPolygon(QPolygonF({{3, 3}, {3, 13}, {10, 8}}));
      break;
  }
  return QIcon(pixmap);
}

}  // namespace lockstep::ui
