#pragma once

#include <cstddef>

#include "ui/model/RunModel.h"
#include "ui/views/timeline/LevelOfDetail.h"

namespace lockstep::ui {

/// A row of a lane as forEachVisible reads it. Lives no longer than a frame.
class LodRow {
 public:
  LodRow(const RunModel& model, const Lane& lane, int row)
      : model_(model),
        store_(lane.rows[static_cast<std::size_t>(row)]),
        lane_(lane.id),
        row_(row) {}

  [[nodiscard]] std::size_t size() const { return store_.size(); }
  [[nodiscard]] double startNs(std::size_t i) const { return model_.toNs(store_.startAt(i)); }
  [[nodiscard]] double endNs(std::size_t i) const { return model_.toNs(store_.endAt(i)); }
  [[nodiscard]] std::size_t firstEndingAfter(double ns) const {
    return store_.firstEndingAfter(model_.toTicks(ns));
  }
  [[nodiscard]] Span spanAt(std::size_t i) const { return model_.spanAt(lane_, row_, i); }
  /// The longest of a fold, which is what fills it. Of a few samples, evenly spread: a look at all
  /// would cost spans and not pixels.
  [[nodiscard]] Span longestOf(const LodItem& fold) const;
  /// The part of a fold's time that its spans fill, 0 to 1, by the same samples.
  [[nodiscard]] double filledPart(const LodItem& fold) const;

 private:
  const RunModel& model_;
  const run::SpanStore& store_;
  int lane_;
  int row_;
};

}  // namespace lockstep::ui
