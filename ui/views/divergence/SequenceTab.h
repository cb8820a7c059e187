#pragma once

#include <QWidget>

#include "ui/views/divergence/PlacesTab.h"
#include "ui/views/divergence/SequenceScene.h"

class QAction;
class QCheckBox;
class QComboBox;
class QPushButton;
class QScrollBar;

namespace lockstep::ui {

class ElidedLabel;
class TableView;

/// The calls of a group's ranks side by side. [ui-thread]
class SequenceTab : public PlacesTab<SequenceScene, SequenceFrame, CallPlace> {
  Q_OBJECT

 public:
  explicit SequenceTab(QWidget* parent = nullptr);

  void setFacts(std::shared_ptr<const DivergenceFacts> facts) override;
  void selectionChanged() override;

  /// The commands that the buttons stand for: their tooltips name the keys.
  void setCommands(const QAction* first, const QAction* previous, const QAction* next);
  /// Shows the first mismatch of all groups; the start of the sequence when there is none.
  void showFirstMismatch();
  /// Shows the next (1) or previous (-1) row that differs.
  void showMismatch(int direction);
  /// Shows the last call before a step, of the group that most calls are in.
  void showBefore(std::uint32_t step);
 private:
  void runChanged() override;
  void paintFacts(DisplayList& list, QSizeF size) override;
  [[nodiscard]] QString description() const override;
  void pointerPressed(const PointerInput& input) override;
  void pointerMoved(const PointerInput& input) override;
  void wheelTurned(const WheelInput& input) override;

  [[nodiscard]] SequenceFrame frame(QSizeF size) const override;
  [[nodiscard]] bool shows() const override {
    return facts_ != nullptr && !facts_->sequences.empty();
  }
  [[nodiscard]] const analysis::CallSequence& sequence() const;
  void showSequence(std::size_t sequence);
  void choose(const CallPlace& place);
  void reveal(std::size_t row);
  void updateScrollBar();
  void tellKeys();

  std::size_t sequence_ = 0;
  double scroll_ = 0;
  bool jumped_ = false;  // to the first mismatch of this run
  QComboBox* groups_;
  QCheckBox* suspectsOnly_;
  const QAction* firstCommand_ = nullptr;
  QPushButton* first_;
  QPushButton* previous_;
  QPushButton* next_;
  ElidedLabel* summary_;
  QScrollBar* scrollBar_;
  TableView* table_;
};

}  // namespace lockstep::ui
