#pragma once

#include <QBoxLayout>
#include <QMargins>
#include <QWidget>
#include <initializer_list>

namespace lockstep::ui {

// Widgets beside and below each other, written down as they stand.

/// One part of a row or column: a widget, a layout, or free room.
struct Part {
  Part(QWidget* widget, int stretch = 0, Qt::Alignment alignment = {})
      : widget(widget), stretch(stretch), alignment(alignment) {}
  Part(QLayout* layout, int stretch = 0) : layout(layout), stretch(stretch) {}
  /// Takes what is left.
  static Part rest() { return {static_cast<QWidget*>(nullptr), 1}; }
  static Part gap(int pixels);

  QWidget* widget = nullptr;
  QLayout* layout = nullptr;
  int stretch = 0;
  Qt::Alignment alignment{};
  int pixels = 0;
};

/// `spacing` pixels lie between two parts; -1: as many as usual.
QHBoxLayout* inRow(std::initializer_list<Part> parts, int spacing = -1);
QVBoxLayout* inColumn(std::initializer_list<Part> parts, int spacing = -1);
/// Adds parts after those that are there.
void add(QBoxLayout& layout, std::initializer_list<Part> parts);

/// Fills a widget, up to its edges where no margins are given; returns it.
QWidget* fill(QWidget* widget, QLayout* layout, const QMargins& margins = {});
/// Returns a frameless area that scrolls a widget which may be higher than its place.
QWidget* scrolled(QWidget* widget);
/// The same for what a dialog holds: it has the room that it takes, and is scrolled only where a
/// screen has less.
QWidget* scrolledAtNeed(QWidget* widget);
/// The same for words beside a picture, which gives way: as wide as they need, `widest` at most.
QWidget* scrolledBeside(QWidget* widget, int widest);

/// Sizes a window that is not shown yet as is wished, within its screen.
void resizeWithinScreen(QWidget& window, const QSize& wish);

}  // namespace lockstep::ui
