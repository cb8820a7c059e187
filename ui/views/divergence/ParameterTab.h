#pragma once

#include "ui/views/divergence/ParameterScene.h"
#include "ui/views/divergence/PlacesTab.h"

class QAction;
class QComboBox;
class QPushButton;
class QTabWidget;
class QTextBrowser;

namespace lockstep::ui {

class TableView;

/// Whether the replicas are equal: strips, the heat map of parameter by iteration, what is known of
/// a cell, and the gradients that held no finite number. [ui-thread]
class ParameterTab : public PlacesTab<ParameterScene, ParameterFrame, ReplicaPlace> {
  Q_OBJECT

 public:
  explicit ParameterTab(QWidget* parent = nullptr);

  void setFacts(std::shared_ptr<const DivergenceFacts> facts) override;
  void selectionChanged() override {}

  /// Selects the first difference; does nothing when there is none.
  void showFirstDifference();
  /// The command that does the same: the button names its key.
  void setCommand(const QAction* firstDifference);
  /// Shows all iterations.
  void showAll();
  /// Multiplies how many iterations are in sight, about the pointer or the middle.
  void zoom(double factor);
  /// Moves by a part of what is in sight.
  void pan(double part);

  [[nodiscard]] const std::optional<ReplicaPlace>& selected() const { return selected_; }
 signals:
  /// The user wants to see the calls before an iteration.
  void callsRequested(std::uint32_t step);

 private:
  void runChanged() override;
  [[nodiscard]] QString description() const override;
  void pointerPressed(const PointerInput& input) override;
  void pointerMoved(const PointerInput& input) override;
  void pointerReleased(const PointerInput& input) override;
  void pointerDoubleClicked(const PointerInput& input) override;
  void wheelTurned(const WheelInput& input) override;

  [[nodiscard]] ParameterFrame frame(QSizeF size) const override;
  [[nodiscard]] TimeAxis axis() const;
  void show(const TimeAxis& axis);
  void choose(const ReplicaPlace& place);
  void chooseFinding(std::size_t finding);
  void explain();
  void shareBelow();
  void tellKeys();
  [[nodiscard]] QString callsBefore(std::uint32_t step) const;

  std::optional<TimeRange> visible_;  // in steps; none: all
  std::optional<QPointF> dragFrom_;
  TimeAxis dragAxis_;
  QComboBox* measure_;
  const QAction* firstCommand_ = nullptr;
  QPushButton* first_;
  QPushButton* copySetting_;
  QTabWidget* tables_;
  TableView* parameters_;
  TableView* findings_;
  TableView* values_;
  QTextBrowser* details_;
  QSplitter* below_;
  bool sharedByHand_ = false;
};

}  // namespace lockstep::ui
