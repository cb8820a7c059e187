#pragma once

#include <memory>
#include <optional>

#include "ui/model/BackgroundJob.h"
#include "ui/stage/Boxes.h"
#include "ui/stage/CanvasPart.h"
#include "ui/stage/RunPart.h"
#include "ui/views/overlap/BucketScene.h"

class QComboBox;

namespace lockstep::ui {

class TableView;

/// Rank by bucket: what a bucket costs, who comes late to it, how long it takes; which of them
/// costs most, and why. A click on a cell shows its iterations below, and selects the worst of
/// them. A table has the same. [ui-thread]
class BucketTab : public CanvasPart<RunPart> {
  Q_OBJECT

 public:
  explicit BucketTab(QWidget* parent = nullptr);

  /// What is shown; null before the first analysis.
  [[nodiscard]] const std::shared_ptr<const BucketContent>& content() const { return content_; }
  [[nodiscard]] TableView* table() const { return table_; }
  /// The frame as it would be drawn now, for tests and tours. Needs content.
  [[nodiscard]] BucketScene scene() const;

  /// Takes the latest analysis, where somebody looks.
  void refresh();
  /// Moves the selection to a neighbour.
  void moveSelection(int buckets, int rows);
  /// Selects the worst iteration of the cell that is shown, and asks for the timeline there.
  void showOnTimeline();

 signals:
  /// The canvas was painted.
  void painted();
  /// The user wants to see the selection in the timeline.
  void timelineRequested();

 protected:
  void runChanged() override;
  void paintCanvas(DisplayList& list, QSizeF size) override;
  [[nodiscard]] QString headingAt(QPointF at) const override;
  void canvasPainted() override;
  void pointerPressed(const PointerInput& input) override;
  void pointerDoubleClicked(const PointerInput& input) override;

 private:
  QLayout* makeBar();
  void take(std::shared_ptr<const BucketContent> content);
  void choiceChanged();
  void nameIteration();
  void selectionMoved();
  /// `rank`: by index, of those in the row; none: the one with most.
  void choose(const BucketPlace& place, std::optional<std::size_t> rank = std::nullopt);
  /// Selects a sample's first collective, the iteration where the model does not hold that.
  void select(std::size_t rank, const analysis::BucketSample& sample);
  void showInTable(std::size_t rank, int bucket);
  void describe();
  [[nodiscard]] CellChoice choice() const;
  [[nodiscard]] bool folded() const;
  [[nodiscard]] BucketFrame frame(QSizeF size) const;
  [[nodiscard]] bool shows() const { return content_ != nullptr && content_->empty.isEmpty(); }

  std::shared_ptr<const AnalysedRun> analysed_;    // what content_ is or will be made of
  std::shared_ptr<GrowingBucketContent> growing_;  // of this run
  std::shared_ptr<const BucketContent> content_;
  BackgroundJob job_{this};  // makes content_
  std::optional<BucketPlace> selected_;
  bool choosing_ = false;  // the selection of the view state moves because of a click here

  QComboBox* figure_;
  QComboBox* scope_;
  QComboBox* rows_;
  QToolButton* timeline_;
  QToolButton* toFile_;
  TableView* table_;
};

}  // namespace lockstep::ui
