#include "ui/panels/ElidedLabel.h"

#include <QPainter>
#include <QStyle>
#include <QStyleOption>

namespace lockstep::ui {

ElidedLabel::ElidedLabel(QWidget* parent) : QLabel(parent) {
  setTextFormat(Qt::PlainText);
  setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Preferred);
}

void ElidedLabel::setWords(const QString& text, const QString& tip) {
  if (text != this->text()) {
    setText(text);
  }
  setToolTip(tip.isEmpty() ? text : text + QLatin1Char('\n') + tip);
}

QSize ElidedLabel::minimumSizeHint() const {
  // QLabel's own hint is its whole text, and would keep a layout from taking the room away.
  constexpr int kLeast = 8;  // letters
  const QSize whole = QLabel::minimumSizeHint();
  return {std::min(whole.width(), kLeast * fontMetrics().averageCharWidth()), whole.height()};
}

void ElidedLabel::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  QStyleOption option;
  option.initFrom(this);
  const QString shown = fontMetrics().elidedText(text(), Qt::ElideRight, width());
  style()->drawItemText(&painter, rect(), static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter),
                        option.palette, isEnabled(), shown, foregroundRole());
}

}  // namespace lockstep::ui
