#pragma once

#include <QRectF>
#include <QSizeF>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/model/Fact.h"
#include "ui/views/overlap/BucketBars.h"
#include "ui/views/overlap/BucketContent.h"

namespace lockstep::ui {

/// A row of the picture and a bucket.
struct BucketPlace {
  std::size_t row = 0;
  int bucket = 0;
  bool operator==(const BucketPlace&) const = default;
};

struct BucketFrame {
  QSizeF size;
  CellChoice choice;
  bool folded = true;  ///< of many ranks, those that are alike in one row
  std::optional<BucketPlace> selected;
  std::optional<std::uint32_t> step;  ///< whose bar is marked
  std::optional<QPointF> pointer;
};

/// Draws rank by bucket, darker where a figure is larger, under a headline that says what is hidden
/// and what is exposed, and a verdict, which bucket costs most and why; below, the iterations of
/// the selected cell, or else of the one that the verdict names. In two files: `BucketCells.cpp`
/// has the cells and what stands around them.
class BucketScene {
 public:
  BucketScene(const BucketContent& content, const Palette& palette, const BucketFrame& frame);

  void draw(DisplayList& list) const;
  [[nodiscard]] std::optional<BucketPlace> placeAt(QPointF position) const;
  [[nodiscard]] QRectF rectOf(const BucketPlace& place) const;
  /// The place whose iterations are shown.
  [[nodiscard]] const std::optional<BucketPlace>& shown() const { return shown_; }
  /// Its rank, by index: of several the one with most.
  [[nodiscard]] std::optional<std::size_t> shownRank() const;
  /// Its iterations; nothing: there is no room, or nothing to show.
  [[nodiscard]] std::optional<BucketBars> bars() const;
  /// A height in which all can be read.
  static double comfortableHeight(const BucketContent& content);

 private:
  static constexpr double kMargin = 12;
  static constexpr double kTitles = 38;  // numbers and sizes of the buckets, above the cells
  static constexpr double kEdge = 24;    // height of the line with the sums
  static constexpr double kEdgeGap = 6;

  void layOut();
  /// What the cells, and the figures at their edges, are of.
  [[nodiscard]] QString meaning(bool many) const;
  void drawHeader(DisplayList& list) const;
  void drawCells(DisplayList& list, double most) const;
  void drawCell(DisplayList& list, const BucketPlace& place, const QRectF& full, double most) const;
  void drawLargest(DisplayList& list, double most) const;
  void drawColumns(DisplayList& list) const;
  void drawRows(DisplayList& list) const;
  void drawEdges(DisplayList& list) const;
  void drawLegend(DisplayList& list, double most) const;
  void drawPointer(DisplayList& list) const;
  [[nodiscard]] std::vector<int> ranksOf(std::size_t row) const;
  [[nodiscard]] QString nameOf(std::size_t row) const;
  [[nodiscard]] std::optional<double> valueOf(const BucketPlace& place) const;
  [[nodiscard]] std::optional<double> ofRow(std::size_t row) const;
  [[nodiscard]] std::optional<double> ofBucket(int bucket) const;
  [[nodiscard]] std::vector<Fact> factsOf(const BucketPlace& place) const;

  const BucketContent& content_;
  const Palette& palette_;
  const BucketFrame frame_;
  const std::vector<BucketContent::Row>& rows_;
  std::optional<BucketPlace> shown_;
  QStringList headline_;
  QStringList verdict_;
  QStringList notes_;
  double gutter_ = 0;
  QRectF cells_;  // all of them
  QRectF barsArea_;
};

}  // namespace lockstep::ui
