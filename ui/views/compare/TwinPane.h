#pragma once

#include <QPointer>
#include <QWidget>
#include <cstdint>
#include <optional>

#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"
#include "ui/stage/CanvasPart.h"
#include "ui/stage/Steered.h"
#include "ui/views/timeline/TimelineController.h"

class QScrollBar;

namespace lockstep::ui {

/// One of two timelines that are looked at together: its own range and selection, told relative
/// to the start of the iteration that both are aligned at. [ui-thread]
class TwinPane : public Steered<CanvasPart<QWidget>, TimelineMouse> {
  Q_OBJECT

 public:
  explicit TwinPane(QWidget* parent = nullptr);

  /// `run` is the place of the run in the comparison, 0 is A. Null: no run.
  void setModel(RunModel* model, std::size_t run);

  /// Aligns at an iteration; returns false when the run has no such iteration.
  bool setIteration(std::uint32_t iteration);
  [[nodiscard]] std::optional<std::uint32_t> iteration() const { return iteration_; }
  /// How long the iteration is, on all ranks; nothing without one.
  [[nodiscard]] std::optional<double> iterationNs() const;

  /// The range shown, from the start of the iteration.
  [[nodiscard]] TimeRange relativeRange() const;
  /// Shows a range as another pane shows it; `rangeMoved` does not follow.
  void follow(TimeRange relative);
  void colourBy(ColourBy by);
  /// Selects the span of the same rank, lane, kind and bucket as one of another run.
  void selectCounterpart(const Span& span);
  /// Selects the first communication of a bucket on a rank in this iteration; returns it.
  std::optional<Span> selectBucket(int rank, std::uint16_t bucket);

  [[nodiscard]] ViewState& state() { return state_; }
  [[nodiscard]] RunModel* model() const { return model_; }
  [[nodiscard]] TimeAxis axis() const { return controller_.axis(); }

 signals:
  /// The user moved or zoomed this pane.
  void rangeMoved();
  /// The user selected something in this pane.
  void spanSelected(const lockstep::ui::Span& span);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void paintCanvas(DisplayList& list, QSizeF size) override;
  [[nodiscard]] QString headingAt(QPointF at) const override { return controller_.headingAt(at); }
  [[nodiscard]] TimelineMouse* steering() override {
    return shows() ? &controller_.mouse() : nullptr;
  }
  void steered() override { updated(); }
  void pointerPressed(const PointerInput& input) override;
  void keyPressEvent(QKeyEvent* event) override;

  template <typename Predicate>
  [[nodiscard]] std::optional<Span> findInIteration(int lane, Predicate wanted) const;
  [[nodiscard]] bool shows() const { return controller_.ready() && iteration_; }
  void select(const std::optional<Span>& span);
  void updated();
  void fitRanks();
  void drawLetter(DisplayList& list) const;
  void describe();

  QPointer<RunModel> model_;
  std::size_t run_ = 0;
  ViewState state_;
  TimelineController controller_;
  QScrollBar* scrollBar_;
  std::optional<std::uint32_t> iteration_;
  double originNs_ = 0;
  bool following_ = false;
  bool fitted_ = false;
};

}  // namespace lockstep::ui
