#include "ui/panels/findings/FindingsLine.h"

#include <QHelpEvent>
#include <QHoverEvent>
#include <QPainter>
#include <QPainterPath>
#include <QStyle>
#include <QStyleOptionFocusRect>
#include <algorithm>

#include "ui/panels/OwnKeys.h"
#include "ui/panels/TermTips.h"

namespace lockstep::ui {
namespace {

constexpr int kPadding = 8;
constexpr int kGap = 6;
constexpr int kMark = 9;
constexpr int kArrow = 8;
constexpr int kEdge = 4;  // between the pill and the end of the row

}  // namespace

void drawMark(QPainter& painter, FindingTone tone, const QRectF& square) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(inkOf(tone));
  const QPointF middle = square.center();
  switch (tone) {
    case FindingTone::kWrong:
      painter.drawPolygon(QPolygonF{{middle.x(), square.top()},
                                    {square.right(), middle.y()},
                                    {middle.x(), square.bottom()},
                                    {square.left(), middle.y()}});
      break;
    case FindingTone::kCost:
      painter.drawPolygon(QPolygonF{
          {middle.x(), square.top()}, square.bottomRight(), square.bottomLeft()});
      break;
    case FindingTone::kNote:
      painter.drawRect(square);
      break;
    case FindingTone::kGood:
      painter.drawEllipse(square);
      break;
    case FindingTone::kUnknown:
      painter.setBrush(Qt::NoBrush);
      painter.setPen(QPen(inkOf(tone), 1.5));
      painter.drawEllipse(square.adjusted(1, 1, -1, -1));
      break;
  }
  painter.restore();
}

FindingsLine::FindingsLine(QWidget* parent) : QAbstractButton(parent) {
  setObjectName("findingsLine");
  setTerm(this, QStringLiteral("finding"));  // its tip is that of what was found
  setAttribute(Qt::WA_Hover);
  setFocusPolicy(Qt::TabFocus);
  // It fills what the tabs leave, which never shrink for its words.
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);
  keepOwnKeys(this);
}

void FindingsLine::setHeadline(const FindingsHeadline& headline) {
  if (headline == headline_) {
    return;
  }
  headline_ = headline;
  const QString whole = headline_.texts.value(0);
  setAccessibleName(tr("Findings: %1").arg(whole));
  setToolTip(headline_.more == 0
                 ? whole
                 : whole + QLatin1Char('\n') +
                       tr("and %n more", nullptr, static_cast<int>(headline_.more)));
  update();
}

QString FindingsLine::countText() const {
  return headline_.more == 0 ? QString() : tr("+%1").arg(headline_.more);
}

QFont FindingsLine::countFont() const {
  QFont bold = font();
  bold.setBold(true);
  return bold;
}

int FindingsLine::widthAround() const {
  const QString count = countText();
  return 2 * kPadding + kMark + kGap + kArrow +
         (count.isEmpty() ? 0 : QFontMetrics(countFont()).horizontalAdvance(count) + kGap);
}

QString FindingsLine::shownText() const {
  const int room = width() - kEdge - widthAround() - kGap;
  for (const QString& text : headline_.texts) {
    if (fontMetrics().horizontalAdvance(text) <= room) {
      return text;
    }
  }
  // Three letters and dots say nothing: the mark and the count then stand alone.
  constexpr int kFewestLetters = 6;
  return room < kFewestLetters * fontMetrics().averageCharWidth()
             ? QString()
             : fontMetrics().elidedText(headline_.texts.value(headline_.texts.size() - 1),
                                        Qt::ElideRight, room);
}

QRect FindingsLine::pill() const {
  const QString text = shownText();
  const int words = text.isEmpty() ? 0 : fontMetrics().horizontalAdvance(text) + kGap;
  const int wide = std::min(width() - kEdge, widthAround() + words);
  return {width() - kEdge - wide, 2, wide, height() - 4};
}

QSize FindingsLine::sizeHint() const {
  return {widthAround() + kEdge, fontMetrics().height() + kPadding};
}

void FindingsLine::paintEvent(QPaintEvent* /*event*/) {
  emit painted();
  QPainter painter(this);
  if (headline_.texts.isEmpty()) {
    return;
  }
  const QRect area = pill();
  QColor wash = inkOf(headline_.tone);
  wash.setAlphaF(isDown() || isChecked() ? 0.34F : pointed_ ? 0.26F : 0.16F);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(wash);
  painter.drawRoundedRect(area, 4, 4);

  int x = area.left() + kPadding;
  drawMark(painter, headline_.tone,
           QRectF(x, area.top() + (area.height() - kMark) / 2.0, kMark, kMark));
  x += kMark + kGap;
  painter.setPen(palette().color(QPalette::WindowText));
  const auto write = [&](const QString& text) {
    const int wide = painter.fontMetrics().horizontalAdvance(text);
    painter.drawText(QRect(x, area.top(), wide, area.height()), Qt::AlignVCenter | Qt::AlignLeft,
                     text);
    x += wide + kGap;
  };
  if (const QString text = shownText(); !text.isEmpty()) {
    write(text);
  }
  if (const QString count = countText(); !count.isEmpty()) {
    painter.setFont(countFont());
    write(count);
  }
  const double middle = area.top() + area.height() / 2.0;
  QPainterPath arrow;
  arrow.moveTo(x, middle - 2);
  arrow.lineTo(x + kArrow / 2.0, middle + 2);
  arrow.lineTo(x + kArrow, middle - 2);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(palette().color(QPalette::WindowText), 1.5));
  painter.drawPath(arrow);
  if (hasFocus()) {
    QStyleOptionFocusRect option;
    option.initFrom(this);
    option.rect = area;
    style()->drawPrimitive(QStyle::PE_FrameFocusRect, &option, &painter, this);
  }
}

bool FindingsLine::event(QEvent* event) {
  switch (event->type()) {
    case QEvent::HoverEnter:
    case QEvent::HoverMove:
    case QEvent::HoverLeave: {
      const bool pointed = event->type() != QEvent::HoverLeave &&
                           pill().contains(static_cast<QHoverEvent*>(event)->position().toPoint());
      if (pointed != pointed_) {
        pointed_ = pointed;
        update();
      }
      break;
    }
    case QEvent::ToolTip:
      if (!pill().contains(static_cast<QHelpEvent*>(event)->pos())) {
        event->ignore();
        return true;  // beside it nothing is said
      }
      break;
    default:
      break;
  }
  return QAbstractButton::event(event);
}

void FindingsLine::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange) {
    updateGeometry();
  }
  QAbstractButton::changeEvent(event);
}

}  // namespace lockstep::ui
