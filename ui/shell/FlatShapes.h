#pragma once

#include <QPalette>
#include <QPen>
#include <QRectF>
#include <QStyleOption>

class QPainter;

namespace lockstep::ui {

// The shapes that controls are made of, in the colours of a palette. [ui-thread]

inline constexpr qreal kRounding = 4;

/// The accent: `Palette::action`.
QColor accentOf(const QPalette& palette);
/// The line between two parts, and around what stands apart.
QColor outlineOf(const QPalette& palette);
/// A breath of the text's colour, over what the pointer is on (`part` 0 to 1).
QColor washOf(const QPalette& palette, float part);

/// Fills and outlines a box with round corners, whose line lies within `rect`.
void drawBox(QPainter& painter, const QRectF& rect, const QColor& fill, const QPen& outline);
/// What can be pressed: pushed, under the pointer, in focus, the one that Enter presses, or plain.
void drawPushBox(QPainter& painter, const QStyleOption& option, bool first);
/// What is written or chosen in.
void drawFieldBox(QPainter& painter, const QStyleOption& option);
/// A mark that something opens (`degrees` 0: downwards).
void drawChevron(QPainter& painter, const QRectF& rect, qreal degrees, const QColor& ink);
/// The tab of a bar: the one in front has a line of the accent at the edge of what it shows.
void drawTab(QPainter& painter, const QStyleOptionTab& tab);
void drawCheckBox(QPainter& painter, const QStyleOption& option);
void drawRadioButton(QPainter& painter, const QStyleOption& option);
/// The part of a scroll bar that is dragged.
void drawScrollHandle(QPainter& painter, const QStyleOption& option, const QRectF& rect);

}  // namespace lockstep::ui
