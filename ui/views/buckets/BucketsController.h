#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "ui/canvas/CanvasInput.h"
#include "ui/model/ViewState.h"
#include "ui/views/buckets/BucketsScene.h"

namespace lockstep::ui {

/// Turns mouse and keys into frames of the stage: scroll, zoom, selection, replay. Knows no
/// widgets. [ui-thread]
class BucketsController {
 public:
  /// Both outlive this or are reset to null; without them nothing is shown.
  void setRun(const RunModel* model, ViewState* state);
  /// Zoom and replay stay when the story is of the same iteration as the one before.
  void setStory(std::shared_ptr<const BucketStory> story);
  void setSize(QSizeF size);

  [[nodiscard]] bool ready() const { return story_ != nullptr; }
  [[nodiscard]] const BucketStory* story() const { return story_.get(); }
  /// The frame to paint now, with what is selected in the view state.
  [[nodiscard]] BucketsFrame frame() const;
  [[nodiscard]] BucketsLayout layout() const;

  // --- replay ---
  /// The moment shown; none: all is over.
  [[nodiscard]] std::optional<double> replayNs() const { return replayNs_; }
  /// Goes to a part (0..1) of the time from the first gradient to the end; 1 ends the replay.
  void setReplayPart(double part);
  [[nodiscard]] double replayPart() const;
  /// Moves on by a part of that time; false when the end is reached.
  bool advance(double part);
  /// To the next (1) or previous (-1) moment at which something happens; returns it.
  const analysis::ReplayMoment* stepMoment(int direction);
  void showStart() { setReplayPart(0); }
  void showEnd() { setReplayPart(1); }

  // --- time and order ---
  void setAgainst(OrderAgainst against) { against_ = against; }
  [[nodiscard]] OrderAgainst against() const { return against_; }
  void zoom(double factor, std::optional<double> x = std::nullopt);
  void pan(double pixels);
  void fit() { zoomed_.reset(); }

  // --- selection ---
  void selectBucket(int bucket);
  void selectNeighbour(int direction);
  void selectParameter(std::uint32_t parameter, int rank = -1);
  /// The parameter that the view state has selected, or -1; its bucket, or -1.
  [[nodiscard]] int selectedParameter() const;
  [[nodiscard]] int selectedBucket() const;

  // --- mouse ---
  void press(const PointerInput& input);
  void move(const PointerInput& input);
  void release(const PointerInput& input);
  void doubleClick(const PointerInput& input);
  void leave();
  void wheel(const WheelInput& input);
  [[nodiscard]] Qt::CursorShape cursor() const;

 private:
  enum class Drag { kNone, kReplay, kPan };

  [[nodiscard]] TimeRange shown() const;
  void clampScroll();
  void click(const BucketsHit& hit);
  void selectSpan(int rank, std::int64_t spanId);
  void selectTimes(const BucketsHit& hit);
  void replayAt(double x);

  const RunModel* model_ = nullptr;
  ViewState* state_ = nullptr;
  std::shared_ptr<const BucketStory> story_;
  QSizeF size_{900, 500};
  std::optional<TimeRange> zoomed_;
  double rowScroll_ = 0;
  double orderScroll_ = 0;
  OrderAgainst against_ = OrderAgainst::kBuckets;
  std::optional<double> replayNs_;
  BucketsHit hovered_;
  std::optional<QPointF> pointer_;
  Drag drag_ = Drag::kNone;
  QPointF dragFrom_;
};

}  // namespace lockstep::ui
