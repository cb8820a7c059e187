#pragma once

#include <QPointF>
#include <QRectF>
#include <QSizeF>
#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/views/hooks/HooksContent.h"

namespace lockstep::ui {

/// What a frame of the hooks canvas shows beside its content.
struct HooksFrame {
  QSizeF size;
  double scrollY = 0;  ///< pixels of the content above the canvas
  std::optional<HookPick> picked;
  std::optional<HookPick> hovered;
};

/// Lays out and draws the hooks canvas: figures on top, below them a row for each bucket with its
/// phases (medians) and its bytes, below them the histogram of the picked bar and the curves of
/// what the hook counts. A function of its arguments alone. Short-lived: refers to all of them.
class HooksScene {
 public:
  HooksScene(const HooksContent& content, const Palette& palette, const HooksFrame& frame);

  /// The height that everything needs at the frame's width.
  [[nodiscard]] double contentHeight() const;
  void draw(DisplayList& list) const;

  /// What lies at a point of the canvas: a phase of a bucket, or a row as a whole.
  [[nodiscard]] std::optional<HookPick> pickAt(QPointF at) const;
  /// Lines of a tooltip for a point of the canvas; empty where there is nothing to say.
  [[nodiscard]] QString tipAt(QPointF at) const;
  /// The bar of a pick, of the first run or the second; empty when it has none.
  [[nodiscard]] QRectF rectOf(const HookPick& pick, std::size_t side = 0) const;
  /// The whole row of a bucket.
  [[nodiscard]] QRectF rowOf(std::uint16_t bucket) const;

 private:
  struct Bar {
    HookPick pick;
    std::size_t side = 0;
    QRectF rect;  // canvas coordinates
  };
  struct Row {
    std::uint16_t bucket = 0;
    QRectF rect;
  };
  struct Tile {
    QStringList labels;               // the same, shorter and shorter
    std::vector<QStringList> values;  // one a side, in lines
    QString tip;
    QRectF rect;
  };

  void layTiles();
  void layTileRow(std::size_t first, std::size_t count, bool weighed);
  [[nodiscard]] bool hookFits(std::size_t columns) const;
  [[nodiscard]] double besideValues() const;
  [[nodiscard]] static double weightOf(std::size_t tile, bool weighed);
  void layRows();
  void layCharts();
  [[nodiscard]] double barX(double ms) const;
  [[nodiscard]] QString figureOf(const HookPick& pick) const;

  void drawTiles(DisplayList& list) const;
  void drawPhases(DisplayList& list) const;
  void drawAxis(DisplayList& list) const;
  void drawRow(DisplayList& list, const Row& row) const;
  void drawSide(DisplayList& list, const Row& row, std::size_t side) const;
  void drawBytes(DisplayList& list, const QRectF& rect, const analysis::HookBucket& bucket) const;
  void drawLegend(DisplayList& list) const;

  const HooksContent& content_;
  const Palette& palette_;
  const HooksFrame frame_;
  std::vector<Tile> tiles_;
  std::vector<Row> rows_;
  std::vector<Bar> bars_;
  QRectF phases_;        // the card of the rows
  QRectF histogram_;     // the card of the histogram
  QRectF curves_;        // the card of the curves
  double barsLeft_ = 0;  // where 0 ms is
  double barsRight_ = 0;
  double bytesLeft_ = 0;
  double maxMs_ = 1;
  double maxBytes_ = 1;
  double height_ = 0;
};

}  // namespace lockstep::ui
