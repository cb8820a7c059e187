#pragma once

#include <QAction>
#include <QBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QToolButton>
#include <QWidget>
#include <initializer_list>

namespace lockstep::ui {

// How the parts of a view are put beside or below each other: without margins and gaps, unless they
// are set on the layout. All [ui-thread].

/// A widget or a layout, and how much of the room that is left it gets.
template <typename Part>
struct Stretched {
  Part* part;
  int stretch;
};

template <typename Part>
Stretched<Part> wide(Part* part, int stretch = 1) {
  return {part, stretch};
}

inline void addPart(QBoxLayout& box, QWidget* widget, int stretch = 0) {
  box.addWidget(widget, stretch);
}
inline void addPart(QBoxLayout& box, QLayout* layout, int stretch = 0) {
  box.addLayout(layout, stretch);
}
template <typename Part>
void addPart(QBoxLayout& box, const Stretched<Part>& part) {
  addPart(box, part.part, part.stretch);
}
/// What is left of the room stays empty here.
struct Rest {};
inline void addPart(QBoxLayout& box, Rest) { box.addStretch(1); }
/// A number is a gap in pixels.
inline void addPart(QBoxLayout& box, int gap) {
  box.addSpacing(gap);
}

template <typename... Parts>
void addParts(QBoxLayout& box, Parts... parts) {
  (addPart(box, parts), ...);
}

template <typename Box, typename... Parts>
Box* boxOf(QWidget* holder, Parts... parts) {
  auto* box = new Box(holder);
  box->setContentsMargins(0, 0, 0, 0);
  box->setSpacing(0);
  addParts(*box, parts...);
  return box;
}

/// Parts below each other; `holder` gets them, null: the layout that this one is put into.
template <typename... Parts>
QVBoxLayout* inColumn(QWidget* holder, Parts... parts) {
  return boxOf<QVBoxLayout>(holder, parts...);
}

/// Parts beside each other.
template <typename... Parts>
QHBoxLayout* inRow(QWidget* holder, Parts... parts) {
  return boxOf<QHBoxLayout>(holder, parts...);
}

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
  auto* button = new QToolButton;
  button->setText(text);
  button->setAccessibleName(name);
  button->setToolTip(tip);
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
inline QSplitter* split(Qt::Orientation orientation,
                        std::initializer_list<Stretched<QWidget>> parts) {
  auto* splitter = new QSplitter(orientation);
  for (const auto& [part, stretch] : parts) {
    splitter->addWidget(part);
    splitter->setStretchFactor(splitter->count() - 1, stretch);
  }
  return splitter;
}

}  // namespace lockstep::ui
