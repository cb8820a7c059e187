#pragma once

#include <memory>
#include <optional>

#include "ui/model/BackgroundJob.h"
#include "ui/stage/RunView.h"
#include "ui/table/TableView.h"
#include "ui/views/overlap/OverlapContent.h"
#include "ui/views/overlap/OverlapScene.h"

class QTabWidget;

namespace lockstep::ui {

class BucketTab;

/// Two pictures. Rank by bucket, with which opens: which bucket costs which rank most, and why. And
/// how much of each iteration computes, communicates, or both, rank by rank; how much more overlap
/// could hide; and why the exposed part is there. Bars above, tables of the same below. A click on
/// a bar or a cause selects the iteration or the collective in the view state and moves the
/// visible range there. [ui-thread]
class OverlapView : public RunView {
  Q_OBJECT

 public:
  enum Picture { kBuckets = 0, kIterations = 1 };

  explicit OverlapView(QWidget* parent = nullptr);

  void showPicture(Picture picture);
  [[nodiscard]] BucketTab* buckets() const { return buckets_; }

  /// What is shown; null before the first analysis.
  [[nodiscard]] std::shared_ptr<const OverlapContent> content() const { return content_; }
  [[nodiscard]] TableView* stepsTable() const { return stepsTable_; }
  [[nodiscard]] TableView* causesTable() const { return causesTable_; }
  /// The frame as it would be drawn now, for tests and tours. Needs content.
  [[nodiscard]] OverlapScene scene() const;

 protected:
  void hideEvent(QHideEvent* event) override;

 private:
  void runChanged() override;
  void refresh() override;
  void themeChanged() override;
  [[nodiscard]] bool takesKeys() const override;
  void paintCanvas(DisplayList& list, QSizeF size) override;
  [[nodiscard]] QString headingAt(QPointF at) const override;
  void canvasPainted() override;
  void pointerPressed(const PointerInput& input) override;
  void pointerMoved(const PointerInput& input) override;
  void pointerReleased(const PointerInput& input) override;
  void pointerDoubleClicked(const PointerInput& input) override;
  void wheelTurned(const WheelInput& input) override;

  [[nodiscard]] bool showsBuckets() const;
  void makePictures();
  void makeTables();
  void fillTables();
  void makeActions();
  void take(std::shared_ptr<const OverlapContent> content);
  void selectionMoved();
  void select(const OverlapStep& step);
  void selectReason(const analysis::TailReason& reason);
  void chooseRankAt(const QPointF& position);
  void moveSelection(int steps, int ranks);
  void zoom(double factor, double aboutStep);
  void pan(double part);
  void setShown(double first, double last);
  void showAll();
  void bringIntoSight(const OverlapStep& step);
  [[nodiscard]] OverlapFrame frame() const;
  [[nodiscard]] std::optional<OverlapStep> selected() const;
  void updateScrollBar();
  void repaintChart();
  void describe();

  std::shared_ptr<const AnalysedRun> analysed_;     // what content_ is or will be made of
  std::shared_ptr<GrowingOverlapContent> growing_;  // of this run
  std::shared_ptr<const OverlapContent> content_;
  BackgroundJob job_;  // makes content_

  std::optional<int> rank_;
  double firstStep_ = 0;
  double lastStep_ = 1;
  bool showsAll_ = true;
  std::optional<QPointF> pressed_;
  double pressedFirst_ = 0;
  bool dragged_ = false;

  QTabWidget* pictures_;
  BucketTab* buckets_;
  QWidget* chart_;
  QTabWidget* tabs_;
  TableView* stepsTable_;
  TableView* causesTable_;
  TableView* ranksTable_;
};

}  // namespace lockstep::ui
