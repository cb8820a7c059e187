#pragma once

#include <QAction>
#include <QLabel>
#include <QSplitter>
#include <QToolButton>
#include <initializer_list>

#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"

namespace lockstep::ui {

// Small parts of the bars and boxes of a view. All [ui-thread].

/// The words before a control, whose key leads to it.
inline QLabel* labelOf(QWidget* control, const QString& text) {
  auto* label = new QLabel(text);
  label->setBuddy(control);
  return label;
}

/// A flat button beside a canvas, which leaves the keyboard to it; `name` is what a screen reader
/// calls it.
inline QToolButton* barButton(const QString& text, const QString& name = {},
                              const QString& tip = {}) {
  QToolButton* button = named(toolButton(text, tip, ""), "", name, tip);
  button->setAutoRaise(true);
  button->setFocusPolicy(Qt::NoFocus);
  return button;
}
inline QToolButton* barButton(QAction* action) {
  QToolButton* button = barButton(QString());
  button->setDefaultAction(action);
  return button;
}

/// Parts between which a border can be dragged, with the share of the room that each gets.
inline QSplitter* split(Qt::Orientation orientation, std::initializer_list<Part> parts) {
  auto* splitter = new QSplitter(orientation);
  for (const Part& part : parts) {
    splitter->addWidget(part.widget);
    splitter->setStretchFactor(splitter->count() - 1, part.stretch);
  }
  return splitter;
}

}  // namespace lockstep::ui
