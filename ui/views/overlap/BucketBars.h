#pragma once

#include <QPointF>
#include <QRectF>
#include <QSizeF>
#include <cstdint>
#include <optional>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/views/overlap/BucketContent.h"

namespace lockstep::ui {

/// Draws one bucket of one rank, iteration by iteration: a bar from its arrival to the end, cut
/// into waiting and transfer, and in it a mark at what of that it costs. Where iterations share a
/// bar, it is that of the one which costs most.
class BucketBars {
 public:
  /// `rank`: an index into BucketDelays::ranks.
  BucketBars(const BucketContent& content, std::size_t rank, int bucket, const QRectF& area,
             const Palette& palette);

  /// `marked`: an iteration that is selected.
  void draw(DisplayList& list, std::optional<std::uint32_t> marked) const;
  void drawCard(DisplayList& list, QSizeF size, QPointF pointer) const;
  /// The iteration whose bar stands there; null: none.
  [[nodiscard]] const analysis::BucketSample* sampleAt(QPointF position) const;
  /// The foot of an iteration's bar, or of the one that it shares.
  [[nodiscard]] std::optional<QPointF> positionOf(std::uint32_t step) const;

 private:
  [[nodiscard]] std::size_t bars() const;
  /// Of the iterations that share a bar the one that costs most.
  [[nodiscard]] const analysis::BucketSample& sampleOf(std::size_t bar) const;
  [[nodiscard]] bool marksExposed() const;
  [[nodiscard]] double yOf(double ms) const;
  void drawBar(DisplayList& list, std::size_t bar) const;
  void drawWords(DisplayList& list) const;

  const BucketContent& content_;
  const Palette& palette_;
  std::size_t rank_;
  int bucket_;
  QRectF area_;
  QRectF plot_;
  std::size_t each_ = 1;  // iterations a bar
  double width_ = 1;      // of a bar
  double mostMs_ = 0;     // that the plot has room for
};

}  // namespace lockstep::ui
