#pragma once

#include <QColor>
#include <QPointF>
#include <QRectF>
#include <QSizeF>
#include <QString>
#include <QStringList>
#include <utility>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/chart/Legend.h"
#include "ui/model/Fact.h"

namespace lockstep::ui {

// Cards, in logical pixels. All [ui-thread].

/// A fact on a card, with what stands for it in the chart, if anything does.
struct CardLine {
  CardLine(Fact fact) : fact(std::move(fact)) {}
  CardLine(const QString& name, const QString& value, const Swatch& swatch = {})
      : fact{name, value}, swatch(swatch) {}

  Fact fact;
  Swatch swatch;
};

/// What a card beside the pointer says.
struct Card {
  QString title;
  QColor chip;                  ///< before the title; not valid: none
  std::vector<CardLine> lines;  ///< long values go on in further lines
  QStringList sentences;        ///< under them
};

/// Draws a card beside the pointer, on whichever side of a canvas of `size` there is room.
void drawCard(DisplayList& list, QSizeF size, QPointF pointer, const Card& card,
              const Palette& palette);

/// The same of facts alone.
void drawFactCard(DisplayList& list, QSizeF size, QPointF pointer, const QString& title,
                  const QColor& chip, const std::vector<Fact>& facts, const Palette& palette);

/// Draws the ground of a card that lies in the canvas, raised where the pointer is over it.
void drawTile(DisplayList& list, const QRectF& rect, const Palette& palette, bool under = false);

/// Draws a sentence, and more about it under it, in the middle of an area.
void drawMessage(DisplayList& list, const QRectF& area, const QString& title, const QString& more,
                 const QColor& colour, const Palette& palette);

}  // namespace lockstep::ui
