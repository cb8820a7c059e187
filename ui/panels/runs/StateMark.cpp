#include "ui/panels/runs/StateMark.h"

#include <QPainter>
#include <QPolygonF>

#include "ui/panels/runs/RunEntry.h"

namespace lockstep::ui {
namespace {

constexpr double kGrid = 12;  // marks are drawn on a grid of 12 by 12

}  // namespace

StateMark stateMarkOf(const RunEntry& run) {
  if (run.unread) {
    return StateMark::kUnread;
  }
  if (!run.problem.isEmpty()) {
    return StateMark::kUnreadable;
  }
  switch (run.state) {
    case trace::RunState::kStarting:
      return StateMark::kStarting;
    case trace::RunState::kRunning:
      return StateMark::kRunning;
    case trace::RunState::kFinished:
      return StateMark::kFinished;
    case trace::RunState::kFailed:
      return StateMark::kFailed;
    case trace::RunState::kStopped:
      return StateMark::kStopped;
    case trace::RunState::kDiverged:
      return StateMark::kDiverged;
    case trace::RunState::kRecorderDied:
      break;
  }
  return StateMark::kRecorderDied;
}

void drawStateMark(QPainter& painter, const QRectF& square, StateMark mark, const QColor& ink) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.translate(square.topLeft());
  painter.scale(square.width() / kGrid, square.height() / kGrid);
  painter.setPen(QPen(ink, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  const auto dot = [&](double x, double y) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(ink);
    painter.drawEllipse(QPointF(x, y), 1.2, 1.2);
  };
  switch (mark) {
    case StateMark::kStarting:
      painter.drawEllipse(QPointF(6, 6), 4, 4);
      break;
    case StateMark::kRunning:
      painter.setBrush(ink);
      painter.drawPolygon(QPolygonF({{3.5, 2}, {10, 6}, {3.5, 10}}));
      break;
    case StateMark::kFinished:
      painter.drawPolyline(QPolygonF({{1.8, 6.5}, {4.8, 9.5}, {10.2, 2.8}}));
      break;
    case StateMark::kFailed:
      painter.drawLine(QPointF(2.5, 2.5), QPointF(9.5, 9.5));
      painter.drawLine(QPointF(2.5, 9.5), QPointF(9.5, 2.5));
      break;
    case StateMark::kStopped:
      painter.setBrush(ink);
      painter.drawRect(QRectF(3, 3, 6, 6));
      break;
    case StateMark::kDiverged:
      painter.drawLine(QPointF(1.5, 4.2), QPointF(10.5, 4.2));
      painter.drawLine(QPointF(1.5, 7.8), QPointF(10.5, 7.8));
      painter.drawLine(QPointF(3.8, 10.8), QPointF(8.2, 1.2));
      break;
    case StateMark::kRecorderDied:
      painter.drawLine(QPointF(6, 1.5), QPointF(6, 6.8));
      dot(6, 10.2);
      break;
    case StateMark::kUnread:
      for (const double x : {2.0, 6.0, 10.0}) {
        dot(x, 6);
      }
      break;
    case StateMark::kUnreadable:
      painter.drawArc(QRectF(3.3, 1.2, 5.4, 5.4), -60 * 16, 240 * 16);
      painter.drawLine(QPointF(6.9, 6.2), QPointF(6, 7.4));
      dot(6, 10.4);
      break;
  }
  painter.restore();
}

}  // namespace lockstep::ui
