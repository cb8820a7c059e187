#pragma once

#include <QRectF>
#include <QSizeF>
#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/model/SpanFacts.h"
#include "ui/views/divergence/DivergenceFacts.h"

namespace lockstep::ui {

/// A rank, by its row, and a bucket.
struct BucketPlace {
  std::size_t row = 0;
  int bucket = 0;
  bool operator==(const BucketPlace&) const = default;
};

struct BucketFrame {
  QSizeF size;
  analysis::BucketMeasure measure = analysis::BucketMeasure::kLateness;
  std::optional<std::uint32_t> step;  ///< one iteration; none: medians of the measured ones
  std::optional<BucketPlace> selected;
  std::optional<QPointF> pointer;
};

/// Draws rank by bucket, darker where a measure is larger.
class BucketScene {
 public:
  BucketScene(const DivergenceFacts& facts, const Palette& palette, BucketFrame frame);

  void draw(DisplayList& list) const;
  [[nodiscard]] std::optional<BucketPlace> placeAt(QPointF position) const;
  [[nodiscard]] QRectF rectOf(const BucketPlace& place) const;

 private:
  void drawCells(DisplayList& list, double most) const;
  void drawCell(DisplayList& list, const BucketPlace& place, const QRectF& full,
                double most) const;
  void drawLargest(DisplayList& list, double most) const;
  void drawLabels(DisplayList& list) const;
  void drawLegend(DisplayList& list, double most) const;

  const DivergenceFacts& facts_;
  const Palette& palette_;
  const BucketFrame frame_;
};

QString titleOf(analysis::BucketMeasure measure);    ///< "Arrival lateness", ...
QString meaningOf(analysis::BucketMeasure measure);  ///< a sentence

/// Returns what a cell shows, in ms: its median, or its value in a step; nothing: unknown.
std::optional<double> valueOf(const analysis::BucketCell& cell, analysis::BucketMeasure measure,
                              std::optional<std::uint32_t> step);

/// Returns the step's sample, or, of medians, the worst one: what a click selects. Null: none.
const analysis::BucketSample* sampleOf(const analysis::BucketCell& cell,
                                       analysis::BucketMeasure measure,
                                       std::optional<std::uint32_t> step);

/// Returns what there is to say of a cell.
std::vector<Fact> factsOf(const DivergenceFacts& facts, const BucketFrame& frame,
                          const BucketPlace& place);

}  // namespace lockstep::ui
