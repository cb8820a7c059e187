#pragma once

#include <QPointF>
#include <QSizeF>
#include <QString>
#include <QStringList>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"

namespace lockstep::ui {

/// One line of a card: a chip of `colour`, if it has one, a name and a value at the right.
struct CardLine {
  QString name;
  QString value;
  QColor chip;
  bool hatched = false;  ///< the chip
};

/// Draws a small square of a colour, hatched where the colour alone does not tell.
void drawChip(DisplayList& list, const QRectF& rect, const QColor& colour, bool hatched,
              const Palette& palette);

/// Draws a card beside the pointer, on whichever side of a canvas of `size` there is room: a
/// title, lines, and under them sentences.
void drawCard(DisplayList& list, QSizeF size, QPointF pointer, const QString& title,
              const std::vector<CardLine>& lines, const QStringList& sentences,
              const Palette& palette);

}  // namespace lockstep::ui
