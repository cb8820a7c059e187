#pragma once

#include <QColor>
#include <QLabel>
#include <QLineEdit>
#include <QString>
#include <QToolButton>

namespace lockstep::ui {

// Small widgets as every panel has them. `name` is what tests and styles know a widget by.

/// Words that wrap.
QLabel* wrapped(const QString& text = {}, const char* name = "");
/// Words that wrap, in the colour of what matters less.
QLabel* muted(const QString& text = {}, const char* name = "");
/// A heading, `scale` times as large as usual.
QLabel* bold(const QString& text = {}, double scale = 1);
/// Gives words another colour.
void setInk(QWidget* words, const QColor& ink);

QToolButton* toolButton(const QString& text, const QString& tip, const char* name);
/// A line that filters what is listed beside it; `called` is what a screen reader says.
QLineEdit* filterLine(const char* name, const QString& hint, const QString& called);
/// Such a line of this panel that is in sight; null: it has none.
QLineEdit* filterLineIn(const QWidget& panel);

/// Names a widget, and says what a screen reader calls it, unless it has a name for that, and what
/// is told under the pointer.
template <typename Widget>
Widget* named(Widget* widget, const char* name, const QString& called = {},
              const QString& tip = {}) {
  widget->setObjectName(QLatin1String(name));
  if (!called.isEmpty()) {
    widget->setAccessibleName(called);
  }
  widget->setToolTip(tip);
  return widget;
}

}  // namespace lockstep::ui
