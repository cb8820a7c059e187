#pragma once

#include <QPointer>
#include <QWidget>

#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"
#include "ui/table/TableView.h"

class QLabel;
class QTimer;
class QToolButton;

namespace lockstep::ui {

/// The plotted counters as a table, over the whole run or over the time that statistics are
/// restricted to. It follows a live run twice a second, as long as it is in sight. [ui-thread]
class CounterPanel : public QWidget {
  Q_OBJECT

 public:
  explicit CounterPanel(QWidget* parent = nullptr);

  /// Neither is owned; null empties the table.
  void setModel(RunModel* model);
  void setState(ViewState* state);

  [[nodiscard]] TableView* table() const { return view_; }

 signals:
  /// A row was entered: its largest value is wanted in sight.
  void placeWanted(double ns);
  void closeWanted();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void refreshSoon();
  void refresh();

  QPointer<RunModel> model_;
  QPointer<ViewState> state_;
  TableView* view_;
  QLabel* title_;
  QToolButton* export_;
  QTimer* timer_;
};

}  // namespace lockstep::ui
