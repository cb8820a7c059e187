#pragma once

#include <QPointF>
#include <QRectF>
#include <QSizeF>
#include <QStringList>
#include <array>
#include <optional>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/views/live/LiveContent.h"
#include "ui/views/timeline/TimelineLayout.h"

namespace lockstep::ui {

/// Draws one frame of the live view: tiles with figures, the last iterations, the buckets of the
/// iteration that goes on, loss and throughput.
class LiveScene {
 public:
  struct Frame {
    QSizeF size;
    std::optional<QPointF> pointer;  ///< shows a card
    /// It says itself how the run ended, since no verdict stands above it.
    bool alone = false;
  };
  /// The place of one rank's bucket.
  struct Cell {
    std::size_t rank = 0;  ///< in LiveContent::ranks
    std::size_t bucket = 0;
    QRectF rect;
  };

  LiveScene(const RunModel& model, const LiveContent& content, const Palette& palette, Frame frame);

  void draw(DisplayList& list) const;

  [[nodiscard]] std::optional<LiveFigure> tileAt(QPointF position) const;
  [[nodiscard]] QRectF tileRect(LiveFigure figure) const {
    return tiles_[static_cast<std::size_t>(figure)];
  }
  [[nodiscard]] const QRectF& timeline() const { return timeline_; }
  /// What stands in it below its ruler, and from which height on.
  [[nodiscard]] const TimelineLayout& lanes() const { return lanes_; }
  [[nodiscard]] double lanesFrom() const { return lanesFrom_; }
  [[nodiscard]] const QRectF& buckets() const { return buckets_; }
  [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }
  [[nodiscard]] const QRectF& lossChart() const { return loss_; }

 private:
  void layOut();
  void layOutLanes(double room);
  void layOutLines(double room);
  void layOutRows();
  void layOutCells();
  void drawTile(DisplayList& list, LiveFigure figure) const;
  void drawTimeline(DisplayList& list) const;
  void drawBuckets(DisplayList& list) const;
  void drawCell(DisplayList& list, const Cell& cell) const;
  void drawCards(DisplayList& list) const;

  const RunModel& model_;
  const LiveContent& content_;
  const Palette& palette_;
  const Frame frame_;
  QRectF problem_;
  QStringList problemLines_;
  std::array<QRectF, kLiveFigures> tiles_;
  QRectF timeline_;
  QRectF buckets_;
  QRectF loss_;
  QRectF throughput_;
  TimelineLayout lanes_;
  double lanesFrom_ = 0;           // what is above does not fit
  std::vector<std::size_t> rows_;  // of LiveContent::ranks, those whose buckets are shown
  std::vector<Cell> cells_;
  std::size_t rowsLeftOut_ = 0;
};

}  // namespace lockstep::ui
