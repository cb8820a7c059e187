#include "ui/panels/Unfolding.h"

#include <QEasingCurve>
#include <QStyle>
#include <QVariantAnimation>
#include <QWidget>

namespace lockstep::ui {

void unfold(QWidget* widget) {
  const int ms =
      widget->style()->styleHint(QStyle::SH_Widget_Animation_Duration, nullptr, widget);
  if (ms <= 0) {
    return;
  }
  auto* motion = new QVariantAnimation(widget);
  motion->setDuration(ms);
  motion->setEasingCurve(QEasingCurve::OutCubic);
  motion->setStartValue(0);
  motion->setEndValue(widget->sizeHint().height());
  QObject::connect(motion, &QVariantAnimation::valueChanged, widget,
                   [widget](const QVariant& height) { widget->setMaximumHeight(height.toInt()); });
  // What it needs at its width is known by then.
  QObject::connect(motion, &QVariantAnimation::finished, widget,
                   [widget] { widget->setMaximumHeight(QWIDGETSIZE_MAX); });
  widget->setMaximumHeight(0);
  motion->start(QAbstractAnimation::DeleteWhenStopped);
}

}  // namespace lockstep::ui
