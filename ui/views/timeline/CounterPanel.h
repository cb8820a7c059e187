#pragma once

#include "ui/stage/RunPart.h"
#include "ui/table/TableView.h"

class QLabel;
class QTimer;
class QToolButton;

namespace lockstep::ui {

/// The plotted counters as a table, over the whole run or over the time that statistics are
/// restricted to. It follows a live run twice a second, as long as it is in sight. [ui-thread]
class CounterPanel : public RunPart {
  Q_OBJECT

 public:
  explicit CounterPanel(QWidget* parent = nullptr);

  [[nodiscard]] TableView* table() const { return view_; }

 signals:
  /// A row was entered: its largest value is wanted in sight.
  void placeWanted(double ns);
  void closeWanted();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void runChanged() override;
  void refreshSoon();
  void refresh();

  TableView* view_;
  QLabel* title_;
  QToolButton* export_;
  QTimer* timer_;
};

}  // namespace lockstep::ui
