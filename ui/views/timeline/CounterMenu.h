#pragma once

#include <QMenu>
#include <QPointer>
#include <QStringList>

#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"

namespace lockstep::ui {

/// The menu that chooses which counters a timeline plots: those of the open run, by what they are
/// about. Reads the run, writes the view state. [ui-thread]
class CounterMenu : public QMenu {
  Q_OBJECT

 public:
  explicit CounterMenu(QWidget* parent = nullptr);

  /// Neither is owned; null empties the menu.
  void setModel(RunModel* model) { model_ = model; }
  void setState(ViewState* state) { state_ = state; }
  /// Commands at the top and at the bottom of the menu.
  void setCommands(QAction* all, QAction* table);

  /// Plots a counter, or no longer.
  void toggle(const QString& name);
  /// Plots none, or again those that were plotted before that.
  void toggleAll();

 private:
  void fill();

  QPointer<RunModel> model_;
  QPointer<ViewState> state_;
  QAction* all_ = nullptr;
  QAction* table_ = nullptr;
  QStringList before_;
};

}  // namespace lockstep::ui
