#pragma once

#include <QAction>
#include <QList>
#include <QWidget>

#include "ui/canvas/Palette.h"

namespace lockstep::ui {

class RunAnalyser;
class RunModel;
class ViewState;

/// The run that a view shows; all null: none is open. The session owns them.
struct OpenRun {
  RunModel* model = nullptr;
  ViewState* state = nullptr;
  RunAnalyser* analyser = nullptr;

  [[nodiscard]] bool any() const { return model != nullptr; }
};

/// A stage of the window: one way to look at the open run. It reads the run and changes nothing
/// but the view state; selection, range and hover are shared through that. It works only while it
/// is in sight: what comes meanwhile it takes when it is shown. [ui-thread]
class RunView : public QWidget {
 public:
  using QWidget::QWidget;

  /// Shows another run, or, without one, a sentence that says how to get one.
  virtual void setRun(const OpenRun& run) = 0;
  virtual void setTheme(Theme theme) = 0;
  /// Actions of this view alone, with keys that work while it has focus: for menus, the palette
  /// and the key sheet.
  [[nodiscard]] virtual QList<QAction*> viewActions() const { return {}; }
};

}  // namespace lockstep::ui
