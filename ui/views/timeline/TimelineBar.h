#pragma once

#include <QPointer>
#include <QWidget>

#include "ui/canvas/Palette.h"
#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"

class QAction;
class QComboBox;
class QLabel;
class QToolButton;

namespace lockstep::ui {

/// The bar below a timeline: what the colours are about, with their legend, and what is out of
/// the ordinary: a filter, a view that stands still. [ui-thread]
class TimelineBar : public QWidget {
  Q_OBJECT

 public:
  explicit TimelineBar(QWidget* parent = nullptr);
  ~TimelineBar() override;

  void setModel(RunModel* model);
  void setState(ViewState* state);
  void setTheme(Theme theme);
  /// Buttons beside the legend.
  void addButton(QAction* action);
  /// Shows that the view stands still.
  void setFrozen(bool frozen);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  class Legend;

  void refresh();

  QPointer<ViewState> state_;
  QComboBox* colourBy_ = nullptr;
  Legend* legend_ = nullptr;
  QLabel* status_ = nullptr;
  QToolButton* clear_ = nullptr;
  bool frozen_ = false;
};

}  // namespace lockstep::ui
