#pragma once

#include <QPointF>
#include <QRectF>
#include <QSizeF>
#include <optional>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/chart/Ticks.h"
#include "ui/views/ranks/RanksMap.h"

namespace lockstep::ui {

struct RanksFrame {
  QSizeF size;
  std::optional<int> selected;  ///< rank
  std::optional<QPointF> pointer{};
};

/// Draws the landscape of a run's ranks: those unlike the rest by their names, and the map of rank
/// by iteration under them. Holds nothing beyond a frame; what it folds of the map stays with that.
class RanksScene {
 public:
  /// Folds `map` to the room that there is.
  RanksScene(RanksMap& map, const Palette& palette, const RanksFrame& frame);

  void draw(DisplayList& list) const;

  /// Which of those that are unlike the rest is named there.
  [[nodiscard]] std::optional<std::size_t> unlikeAt(QPointF position) const;
  /// The rank and column there; where one pixel stands for many, the worst of them.
  [[nodiscard]] std::optional<RankPlace> placeAt(QPointF position) const;
  [[nodiscard]] std::optional<QPointF> positionOfUnlike(std::size_t index) const;
  [[nodiscard]] std::optional<QPointF> positionOf(const RankPlace& place) const;
  /// Where the map is drawn; empty: there is no room, or nothing to show.
  [[nodiscard]] const QRectF& plot() const { return plot_; }

 private:
  void drawHeader(DisplayList& list) const;
  void drawColours(DisplayList& list) const;
  void drawCells(DisplayList& list) const;
  void drawLabels(DisplayList& list) const;
  void drawMarks(DisplayList& list) const;
  void drawAxis(DisplayList& list) const;
  void drawPointer(DisplayList& list) const;
  [[nodiscard]] QRectF rowRect(std::size_t y) const;
  [[nodiscard]] QString labelOf(std::size_t y) const;
  [[nodiscard]] bool isUnlike(std::size_t y) const;
  [[nodiscard]] QString iterationsAt(std::size_t column) const;

  const RanksMap& map_;
  const RanksContent& content_;
  const Palette& palette_;
  const RanksFrame frame_;
  std::vector<QRectF> names_;  // of those unlike the rest, as far as there is room
  double top_ = 0;             // of the line with the figure and its colours
  QRectF plot_;
  double rowHeight_ = 0;
  double columnWidth_ = 0;
};

/// What is said in the header: how many ranks are unlike the rest.
QString headlineOf(const diagnosis::RankLikeness& likeness);

}  // namespace lockstep::ui
