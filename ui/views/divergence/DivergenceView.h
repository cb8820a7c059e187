#pragma once

#include <QList>
#include <QPointer>
#include <functional>
#include <memory>

#include "ui/model/BackgroundJob.h"
#include "ui/views/RunView.h"
#include "ui/views/divergence/DivergenceFacts.h"

class QAction;
class QKeySequence;
class QTabWidget;

namespace lockstep::ui {

class BucketTab;
class DivergenceTab;
class ParameterTab;
class EmptyState;
class SequenceTab;

/// Where the ranks of a run stop being alike: their parameters, the collectives they call, and
/// when they come to each bucket. Three tabs, each a canvas and its tables. [ui-thread]
class DivergenceView : public RunView {
  Q_OBJECT

 public:
  enum Tab { kParameters = 0, kCalls = 1, kBuckets = 2 };

  explicit DivergenceView(QWidget* parent = nullptr);
  ~DivergenceView() override;

  void setRun(const OpenRun& run) override;
  void setTheme(Theme theme) override;
  [[nodiscard]] QList<QAction*> viewActions() const override { return actions_; }

  void showTab(Tab tab);
  [[nodiscard]] Tab tab() const;
  /// What is shown; null before it is known.
  [[nodiscard]] const std::shared_ptr<const DivergenceFacts>& facts() const { return facts_; }
  [[nodiscard]] ParameterTab* parameters() const { return parameters_; }
  [[nodiscard]] SequenceTab* calls() const { return calls_; }
  [[nodiscard]] BucketTab* buckets() const { return buckets_; }

 signals:
  /// No run is open, and the user asks for one: the demo.
  void demoRequested();
  /// The user double-clicked what is selected: the window shows it in the timeline.
  void timelineRequested();
  /// `facts` is new.
  void factsChanged();

 private:
  void makeActions();
  QAction* makeAction(const QString& text, const QList<QKeySequence>& keys,
                      const std::function<void()>& act);
  void wanted();
  void consider();
  void setFacts(std::shared_ptr<const DivergenceFacts> facts);
  [[nodiscard]] QList<DivergenceTab*> allTabs() const;

  QPointer<RunModel> model_;
  QPointer<RunAnalyser> analyser_;
  QPointer<ViewState> state_;
  std::shared_ptr<const DivergenceFacts> facts_;
  BackgroundJob job_{this};                    // makes facts_
  bool complete_ = false;                      // as the latest facts took the run to be
  std::shared_ptr<const AnalysedRun> source_;  // of the latest facts, or of those being made
  EmptyState* noRun_;
  QTabWidget* tabs_;
  ParameterTab* parameters_;
  SequenceTab* calls_;
  BucketTab* buckets_;
  QList<QAction*> actions_;
};

}  // namespace lockstep::ui
