#include "ui/views/divergence/DivergenceView.h"

#include <QTabWidget>
#include <utility>

#include "ui/views/divergence/ParameterTab.h"
#include "ui/views/divergence/SequenceTab.h"

namespace lockstep::ui {
DivergenceView::DivergenceView(QWidget* parent)
    : RunView(parent),
      tabs_(named(new QTabWidget, "divergenceTabs")),
      parameters_(new ParameterTab),
      calls_(new SequenceTab) {
  setObjectName("divergenceView");
  setAccessibleName(tr("Divergence"));
  tabs_->setDocumentMode(true);
  tabs_->addTab(parameters_, tr("Parameters"));
  tabs_->addTab(calls_, tr("Calls side by side"));
  tabs_->setTabToolTip(kParameters, tr("Whether the ranks hold the same parameters"));
  tabs_->setTabToolTip(kCalls, tr("Whether the ranks make the same collectives in the same order"));
  setPages(tr("No run is open. Start an experiment or open a run file, and its ranks are compared "
              "here."),
           tr("Run the 2-rank demo"), Offer::kDemo, {tabs_});
  setFocusProxy(tabs_);
  for (DivergenceTab* tab : allTabs()) {
    connect(tab, &DivergenceTab::painted, this, &DivergenceView::refresh);
    connect(tab, &DivergenceTab::timelineRequested, this, &DivergenceView::timelineRequested);
  }
  connect(parameters_, &ParameterTab::callsRequested, this, [this](std::uint32_t step) {
    showTab(kCalls);
    calls_->showBefore(step);
  });
  makeActions();
  setRun({});
}

QList<DivergenceTab*> DivergenceView::allTabs() const {
  return {parameters_, calls_};
}

// Note [When facts are made]
//
// Facts are made of an analysis, on the pool, and only while somebody looks:
//
//   a tab paints, or an analysis is ready ─▶ refresh ─▶ consider ─ new analysis ─▶ job_
//         ▲                                                                          │
//         └──────────────── setFacts ─▶ tabs paint ◀──────── DivergenceFacts ────────┘
//
// The round ends when the facts are of the latest analysis (source_). It is made once more when the
// run has ended without another one (complete_): then records that are missing will not come, and
// what was left open can be judged.
void DivergenceView::runChanged() {
  job_.drop();
  source_.reset();
  growing_ = std::make_shared<GrowingDivergenceFacts>();
  for (DivergenceTab* tab : allTabs()) {
    tab->setRun({model_, state_, analyser_});
  }
  if (state_ != nullptr) {
    for (DivergenceTab* tab : allTabs()) {
      connect(state_, &ViewState::selectionChanged, this, [tab] { tab->selectionChanged(); });
    }
  }
  if (analyser_ != nullptr) {
    connect(analyser_, &RunAnalyser::ready, this, &DivergenceView::refresh);
  }
  if (model_ != nullptr) {
    connect(model_, &RunModel::changed, this, [this] {
      if (isVisible() && analyser_ != nullptr) {
        analyser_->want();
      }
    });
  }
  setFacts(nullptr);
}

void DivergenceView::themeChanged() {
  for (DivergenceTab* tab : allTabs()) {
    tab->setTheme(theme_);
  }
}

void DivergenceView::showTab(Tab tab) {
  tabs_->setCurrentIndex(tab);
}

DivergenceView::Tab DivergenceView::tab() const {
  return static_cast<Tab>(tabs_->currentIndex());
}

// Somebody looks: what is shown is brought up to the latest analysis.
void DivergenceView::refresh() {
  if (analyser_ != nullptr && isVisible()) {
    analyser_->want();
    consider();
  }
}

void DivergenceView::consider() {
  // While facts are made no others are begun. Once they are there the tabs paint, which asks again.
  if (job_.busy() || model_ == nullptr || analyser_->latest() == nullptr) {
    return;
  }
  FactsInput input = factsInput(*model_, analyser_->latest());
  // The same analysis, except that the run has ended since: then what is missing will not come.
  if (input.run == source_ && input.complete == complete_) {
    return;
  }
  source_ = input.run;
  complete_ = input.complete;
  job_.start([growing = growing_,
              input = std::move(input)]() mutable { return growing->refresh(std::move(input)); },
             [this](std::shared_ptr<const DivergenceFacts> facts) { setFacts(std::move(facts)); });
}

void DivergenceView::setFacts(std::shared_ptr<const DivergenceFacts> facts) {
  facts_ = std::move(facts);
  for (DivergenceTab* tab : allTabs()) {
    tab->setFacts(facts_);
  }
  // What does not match is said where it can be seen from every tab.
  const Verdict::Kind kind = facts_ == nullptr ? Verdict::Kind::kUnknown : verdictOf(*facts_).kind;
  const bool mismatch = facts_ != nullptr && facts_->firstMismatch.has_value();
  tabs_->setTabText(kParameters, kind == Verdict::Kind::kDiffer    ? tr("Parameters (differ)")
                                 : kind == Verdict::Kind::kUnsound ? tr("Parameters (not finite)")
                                                                   : tr("Parameters"));
  tabs_->setTabText(kCalls,
                    mismatch ? tr("Calls side by side (mismatch)") : tr("Calls side by side"));
}

void DivergenceView::makeActions() {
  QAction* first = makeAction(tr("First difference"), {Qt::Key_M}, [this] {
    if (tab() == kParameters) {
      parameters_->showFirstDifference();
    } else if (tab() == kCalls) {
      calls_->showFirstMismatch();
    }
  });
  // These two open the tab of the calls themselves: its title says on every tab that there is a
  // mismatch.
  QAction* next = makeAction(tr("Next mismatch"), {Qt::Key_N}, [this] {
    showTab(kCalls);
    calls_->showMismatch(1);
  });
  QAction* previous =
      makeAction(tr("Previous mismatch"), {QKeySequence(Qt::SHIFT | Qt::Key_N)}, [this] {
        showTab(kCalls);
        calls_->showMismatch(-1);
      });
  parameters_->setCommand(first);
  calls_->setCommands(first, previous, next);
  makeZoomActions([this](double factor) { parameters_->zoom(factor); },
                  [this](double part) { parameters_->pan(part); });
  makeAction(tr("Show all iterations"), {Qt::Key_F}, [this] { parameters_->showAll(); });
}

}  // namespace lockstep::ui
