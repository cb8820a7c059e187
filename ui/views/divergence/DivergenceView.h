#pragma once

#include <QList>
#include <memory>

#include "ui/model/BackgroundJob.h"
#include "ui/stage/RunView.h"
#include "ui/views/divergence/DivergenceFacts.h"

class QTabWidget;

namespace lockstep::ui {

class DivergenceTab;
class ParameterTab;
class SequenceTab;

/// Where the ranks of a run stop being alike: their parameters, and the collectives they call. Two
/// tabs, each a canvas and its tables. [ui-thread]
class DivergenceView : public RunView {
  Q_OBJECT

 public:
  enum Tab { kParameters = 0, kCalls = 1 };

  explicit DivergenceView(QWidget* parent = nullptr);

  void showTab(Tab tab);
  [[nodiscard]] Tab tab() const;
  /// What is shown; null before it is known.
  [[nodiscard]] const std::shared_ptr<const DivergenceFacts>& facts() const { return facts_; }
  [[nodiscard]] ParameterTab* parameters() const { return parameters_; }
  [[nodiscard]] SequenceTab* calls() const { return calls_; }

 private:
  void runChanged() override;
  void refresh() override;
  void themeChanged() override;
  void paintCanvas(DisplayList&, QSizeF) override {}  // its tabs have canvases
  void makeActions();
  void consider();
  void setFacts(std::shared_ptr<const DivergenceFacts> facts);
  [[nodiscard]] QList<DivergenceTab*> allTabs() const;

  std::shared_ptr<const DivergenceFacts> facts_;
  BackgroundJob job_{this};                          // makes facts_
  bool complete_ = false;                            // as the latest facts took the run to be
  std::shared_ptr<GrowingDivergenceFacts> growing_;  // of this run
  std::shared_ptr<const AnalysedRun> source_;        // of the latest facts, or of those being made
  QTabWidget* tabs_;
  ParameterTab* parameters_;
  SequenceTab* calls_;
};

}  // namespace lockstep::ui
