#pragma once

#include <QPointF>
#include <QSizeF>
#include <optional>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/chart/Legend.h"
#include "ui/views/buckets/BucketsLayout.h"

namespace lockstep::ui {

/// What one frame of the stage is about, beside the story.
struct BucketsFrame {
  QSizeF size;
  TimeRange shown;  ///< of the story's time
  double rowScroll = 0;
  double orderScroll = 0;
  OrderAgainst against = OrderAgainst::kBuckets;
  std::optional<double> replayNs;  ///< the moment shown; none: all is over
  int selectedBucket = -1;
  int selectedParameter = -1;
  int selectedRank = -1;  ///< its number
  BucketsHit hovered;
  std::optional<QPointF> pointer;  ///< shows a tooltip
};

/// Draws one frame of the buckets stage: a pure function of story, palette and frame.
class BucketsScene {
 public:
  BucketsScene(const BucketStory& story, const Palette& palette, const BucketsFrame& frame);

  void draw(DisplayList& list) const;
  [[nodiscard]] const BucketsLayout& layout() const { return layout_; }

 private:
  void drawHeader(DisplayList& list) const;
  void drawTimes(DisplayList& list) const;
  void drawLegend(DisplayList& list, QRectF rect) const;
  [[nodiscard]] std::vector<LegendEntry> timesLegend() const;
  void drawTimesLegend(DisplayList& list, QRectF rect) const;
  void drawRow(DisplayList& list, int bucket) const;
  void drawLabel(DisplayList& list, int bucket, const QRectF& row) const;
  void drawCells(DisplayList& list, int bucket) const;
  void drawCell(DisplayList& list, int bucket, const BucketsLayout::Cell& cell) const;
  void drawCellText(DisplayList& list, int bucket, const BucketsLayout::Cell& cell) const;
  [[nodiscard]] QString capName(int bucket) const;
  /// Where the value of the cap stands beside its line; empty: nowhere.
  [[nodiscard]] QRectF capWords(int bucket) const;
  void drawNamesBeside(DisplayList& list, int bucket,
                       const std::vector<BucketsLayout::Cell>& cells) const;
  void drawCap(DisplayList& list, int bucket) const;
  void drawStrip(DisplayList& list, int bucket, int rank) const;
  void drawComputed(DisplayList& list) const;
  /// Words on a quiet ground.
  struct Plate {
    QRectF rect;
    QString text;
  };
  /// A time of the axis.
  using AxisWords = Plate;
  /// What is said of where computing ends, beside the times of the axis; empty: nothing.
  [[nodiscard]] Plate computedPlate(const std::vector<AxisWords>& axis) const;
  /// Where a rank (by place) computes no more; none: out of sight, or not known.
  [[nodiscard]] std::optional<double> xOfComputed(int rank) const;
  void drawExposed(DisplayList& list, int bucket, int rank) const;
  void drawStalls(DisplayList& list) const;
  void drawOrder(DisplayList& list) const;
  void drawBand(DisplayList& list, int rank) const;
  void drawBandLabel(DisplayList& list, int rank) const;
  void drawDots(DisplayList& list, int rank) const;
  void drawRankCrossings(DisplayList& list) const;
  void drawReplay(DisplayList& list) const;
  void drawScroll(DisplayList& list, const QRectF& area, double scroll, double maximum) const;

  [[nodiscard]] QColor bucketColour(int bucket) const;
  /// On how large a part of its ranks and parameters a cell is ready, 0..1.
  [[nodiscard]] double readyPart(int bucket, const BucketsLayout::Cell& cell) const;
  [[nodiscard]] QString stageText(int bucket) const;
  [[nodiscard]] std::uint64_t nowTicks() const;

  const BucketStory& story_;
  const Palette& palette_;
  const BucketsFrame& frame_;
  const BucketsLayout layout_;
};

/// Shortens a parameter's name to its last parts so that it fits, if it can:
/// "layer4.1.conv2.weight", "conv2.weight", "weight". [ui-thread]
QString fittingName(const QString& name, double width);

}  // namespace lockstep::ui
