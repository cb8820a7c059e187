#pragma once

#include <QStringList>
#include <memory>
#include <optional>

#include "ui/model/BackgroundJob.h"
#include "ui/panels/StudioStore.h"
#include "ui/stage/RunView.h"
#include "ui/views/whatif/ForecastHistory.h"
#include "ui/views/whatif/ScalingCurve.h"
#include "ui/views/whatif/WhatIf.h"

class QLabel;
class QTabWidget;
class QToolButton;

namespace lockstep::ui {

class EmptyState;
class TableView;
class ViewOrEmpty;
class WhatIfControls;

/// What the open run would have been with something changed, and on more ranks: choices, figures
/// with their intervals, one iteration as measured and as forecast, the scaling as a plot; a
/// forecast can be run, and is kept with what came of it. All of it is worked out on the pool.
/// [ui-thread]
class WhatIfView : public RunView {
  Q_OBJECT

 public:
  /// `history`: the file of forecasts that were run.
  explicit WhatIfView(const QString& history = forecastsFile(), QWidget* parent = nullptr);

  /// Run files whose hooks are offered, the latest first.
  void setOtherRuns(const QStringList& paths);
  /// Hooks that are offered beside those of runs.
  void setVerifiedHooks(std::vector<cost::VerifiedHook> hooks);
  /// Why no run can be started now; empty: one can.
  void blockRun(const QString& why);

  [[nodiscard]] WhatIfControls* controls() const { return controls_; }
  [[nodiscard]] ForecastHistory& history() { return history_; }
  /// Null before the first.
  [[nodiscard]] const std::shared_ptr<const WhatIf>& told() const { return told_; }
  [[nodiscard]] const std::shared_ptr<const ScalingCurve>& curve() const { return curve_; }

 signals:
  /// What is chosen is to be run: this experiment, of which this is forecast.
  void runRequested(const lockstep::experiment::Experiment& experiment,
                    const lockstep::ui::PastForecast& forecast);
  /// This run can tell nothing: another one is wanted, with settings of the user's.
  void runAgainRequested();
  /// A history that cannot be written; a sentence.
  void failed(const QString& sentence);

 private:
  void runChanged() override;
  void refresh() override;
  void paintCanvas(DisplayList& list, QSizeF size) override;

  void prepare();
  void chosen();
  void ask();
  void askScaling();
  void showTold();
  void foldBasis();
  void showInTimeline();
  void showCurve();
  void sayScaling();
  void sayPast();
  /// Null: there is none, or it cannot tell for what the forecast says already.
  [[nodiscard]] const ScalingCurve* shownCurve() const;
  /// Whether there is nothing of this run that could be forecast, whatever is chosen.
  [[nodiscard]] bool cannotTell() const;
  void showWhetherItCan();
  void showHistory();
  void fillHooks();
  void exportShown();
  [[nodiscard]] QString reasonAgainstRun() const;
  void run();

  WhatIfControls* controls_;
  QLabel* beside_;
  QLabel* outcomes_;
  QLabel* verdict_;
  QLabel* assumptions_;
  QLabel* ranks_;
  QLabel* scaling_;
  QLabel* past_;
  QToolButton* showBasis_;
  QWidget* basis_;  // has assumptions_, scaling_ and past_
  EmptyState* cannot_;
  ViewOrEmpty* forecast_;  // or why there can be none
  QTabWidget* tabs_;
  TableView* buckets_;
  TableView* byRanks_;
  TableView* pastForecasts_;

  ForecastHistory history_;
  QStringList otherRuns_;
  QString blocked_;
  std::shared_ptr<const AnalysedRun> source_;  // of run_
  std::shared_ptr<const WhatIfRun> run_;
  std::shared_ptr<const WhatIf> told_;
  std::shared_ptr<const ScalingCurve> curve_;
  bool askAgain_ = false;  // something else was chosen while an answer was worked out
  bool scaleAgain_ = false;
  bool saysCannot_ = false;
  diagnosis::WantedChange scaled_;  // that curve_ is of, or is going to be
  simulate::Algorithm scaledBy_ = simulate::Algorithm::kFastest;
  BackgroundJob runJob_{this};
  BackgroundJob job_{this};
  BackgroundJob scalingJob_{this};
};

}  // namespace lockstep::ui
