#pragma once

#include <memory>

#include "ui/model/BackgroundJob.h"
#include "ui/stage/RunView.h"
#include "ui/table/TableView.h"
#include "ui/views/live/LiveContent.h"
#include "ui/views/live/LiveFeed.h"
#include "ui/views/live/LiveScene.h"

namespace lockstep::ui {

/// How a run does: figures with their last minute, its last iterations, its buckets filling, loss
/// and throughput. A finished run is shown as a whole. While a run is live it looks again at most
/// four times a second, and only in sight. [ui-thread]
class LiveView : public RunView {
  Q_OBJECT

 public:
  explicit LiveView(QWidget* parent = nullptr);

  /// What is shown; null without a run.
  [[nodiscard]] std::shared_ptr<const LiveContent> content() const { return content_; }
  [[nodiscard]] TableView* table() const { return table_; }
  /// The frame as it would be drawn now, for tests and tours. Needs content.
  [[nodiscard]] LiveScene scene() const;

 signals:
  /// The user asks why communication is exposed, or who is late.
  void overlapRequested();
  /// The user asks for more about the buckets.
  void bucketsRequested();

 private:
  void runChanged() override;
  void refresh() override;
  void paintCanvas(DisplayList& list, QSizeF size) override;
  [[nodiscard]] QString headingAt(QPointF at) const override;
  void pointerPressed(const PointerInput& input) override;
  void pointerMoved(const PointerInput& input) override;
  void pointerReleased(const PointerInput& input) override;

  /// Where a click leads; null: nowhere.
  using Way = void (LiveView::*)();
  [[nodiscard]] Way wayFrom(QPointF position) const;
  void openTimeline();
  void describe();
  void lookForUnlike();

  LiveFeed feed_;
  std::shared_ptr<const AnalysedRun> compared_;  // whose ranks are
  BackgroundJob unlikeJob_{this};
  std::shared_ptr<const LiveContent> content_;
  bool pressed_ = false;
  TableView* table_;
};

}  // namespace lockstep::ui
