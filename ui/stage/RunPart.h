#pragma once

#include <QPointer>
#include <QWidget>
#include <memory>
#include <utility>

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

  /// Says that somebody looks at the analysis, and hands the latest over to `taken`, which had the
  /// one before. False: there is none, or it is the same.
  bool takeLatest(std::shared_ptr<const AnalysedRun>& taken) {
    if (analyser_ == nullptr) {
      return false;
    }
    analyser_->want();
    auto latest = analyser_->latest();
    if (latest == nullptr || latest == taken) {
      return false;
    }
    taken = std::move(latest);
    return true;
  }

  // Whoever owns them may end them in any order.
  QPointer<RunModel> model_;
  QPointer<ViewState> state_;
  QPointer<RunAnalyser> analyser_;
};

}  // namespace lockstep::ui
