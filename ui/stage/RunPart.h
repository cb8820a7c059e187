#pragma once

#include <QPointer>
#include <QWidget>

#include "ui/model/Follow.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"
#include "ui/stage/OpenRun.h"

namespace lockstep::ui {

/// What follows the open run: a view, or a part of one. [ui-thread]
class RunPart : public QWidget {
 public:
  using QWidget::QWidget;

  /// Follows another run, or none. None of it is owned.
  virtual void setRun(const OpenRun& run) {
    take(run);
    runChanged();
  }

 protected:
  /// Another run is open, or none: connects to what is followed of it. These connections end with
  /// the run.
  virtual void runChanged() {}

  void take(const OpenRun& run) {
    follow(model_, run.model, this);
    follow(state_, run.state, this);
    follow(analyser_, run.analyser, this);
  }

  // Whoever owns them may end them in any order.
  QPointer<RunModel> model_;
  QPointer<ViewState> state_;
  QPointer<RunAnalyser> analyser_;
};

}  // namespace lockstep::ui
