#include "ui/views/whatif/WhatIfView.h"

#include <QComboBox>
#include <QPushButton>
#include <QSignalBlocker>
#include <QTabWidget>
#include <algorithm>
#include <utility>

#include "engine/experiment/Schema.h"
#include "ui/chart/Card.h"
#include "ui/model/Format.h"
#include "ui/panels/EmptyState.h"
#include "ui/table/TableText.h"
#include "ui/table/TableView.h"
#include "ui/views/whatif/HistoryTable.h"
#include "ui/views/whatif/ScalingScene.h"
#include "ui/views/whatif/ScalingTable.h"
#include "ui/views/whatif/WhatIfControls.h"
#include "ui/views/whatif/WhatIfScene.h"
#include "ui/views/whatif/WhatIfTable.h"

namespace lockstep::ui {
namespace {

constexpr int kLookEveryMs = 2000;

/// Ranks of an experiment.
int mostToRun() {
  return static_cast<int>(*experiment::findField("processes.world_size")->max);
}

QLabel* words(const char* name) {
  QLabel* label = wrapped({}, name);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  label->setContentsMargins(8, 2, 8, 2);
  return label;
}

void say(QLabel* label, const QString& text) {
  label->setText(text);
  label->setVisible(!text.isEmpty());
}

}  // namespace

WhatIfView::WhatIfView(const QString& history, QWidget* parent)
    : RunView(parent),
      controls_(new WhatIfControls),
      beside_(words("whatIfBeside")),
      outcomes_(words("whatIfOutcomes")),
      verdict_(words("whatIfVerdict")),
      assumptions_(words("whatIfAssumptions")),
      ranks_(words("whatIfRankWords")),
      scaling_(words("whatIfScaling")),
      past_(words("whatIfPast")),
      showBasis_(barButton(tr("What it rests on"))),
      basis_(named(new QWidget, "whatIfBasis")),
      cannot_(named(new EmptyState({}, tr("Run again with…")), "whatIfCannot")),
      tabs_(named(new QTabWidget, "whatIfTabs")),
      buckets_(named(new TableView(tr("Buckets of the forecast")), "whatIfBuckets")),
      byRanks_(named(new TableView(tr("Forecasts by number of ranks")), "whatIfByRanks")),
      pastForecasts_(named(new TableView(tr("Forecasts that were run")), "whatIfPastForecasts")),
      history_(history) {
  setAccessibleName(tr("What if"));
  auto* page = new QWidget;  // has the keys
  makeCanvas(tr("An iteration as measured and as forecast, and the scaling"), page)
      ->setMinimumSize(320, 200);
  setHeading(QStringLiteral("forecast"));
  setFocusProxy(page);
  tabs_->setDocumentMode(true);
  byRanks_->fitOtherColumns();
  tabs_->addTab(buckets_, tr("Buckets"));
  tabs_->addTab(byRanks_, tr("Ranks"));
  tabs_->addTab(pastForecasts_, tr("Forecasts that were run"));
  QToolButton* toFile =
      named(barButton(tr("Export CSV…")), "whatIfExport", {}, tr("Write this table into a file"));
  tabs_->setCornerWidget(toFile);
  fill(basis_, inColumn({assumptions_, scaling_, past_}, 2));
  constexpr int kWidestWords = 380;  // beside the least picture, on a screen of 1024 pixels
  QWidget* said = scrolledBeside(fill(new QWidget, inColumn({beside_,
                                                             outcomes_,
                                                             verdict_,
                                                             ranks_,
                                                             {showBasis_, 0, Qt::AlignLeft},
                                                             basis_,
                                                             Part::rest()},
                                                            2)),
                                 kWidestWords);
  QSplitter* upper = split(Qt::Horizontal, {{canvas_, 3}, {said, 2}});
  forecast_ = new ViewOrEmpty(upper, cannot_);
  forecast_->setEmpty(false);
  QSplitter* content = split(Qt::Vertical, {{forecast_, 3}, {tabs_, 1}});
  upper->setSizes({720, 480});
  content->setSizes({600, 180});
  fill(page, inColumn({controls_, {content, 1}}, 2));
  setPages(tr("No run is open. What if forecasts a run with another cap, link, hook or number of "
              "ranks, and tries what it forecasts."),
           tr("Run the 2-rank demo"), Offer::kDemo, {page});
  showBasis_->setObjectName(QStringLiteral("whatIfShowBasis"));
  showBasis_->setToolTip(tr("Shows what is assumed, how it was fitted and how forecasts held"));
  showBasis_->setCheckable(true);
  showBasis_->setArrowType(Qt::RightArrow);
  showBasis_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  connect(showBasis_, &QToolButton::toggled, this, [this](bool shown) {
    showBasis_->setArrowType(shown ? Qt::DownArrow : Qt::RightArrow);
    foldBasis();
  });
  connect(controls_, &WhatIfControls::changed, this, &WhatIfView::chosen);
  connect(controls_, &WhatIfControls::runRequested, this, &WhatIfView::run);
  connect(cannot_, &EmptyState::activated, this, &WhatIfView::runAgainRequested);
  connect(toFile, &QToolButton::clicked, this, &WhatIfView::exportShown);
  connect(&history_, &ForecastHistory::changed, this, &WhatIfView::showHistory);
  connect(&history_, &ForecastHistory::failed, this, &WhatIfView::failed);
  makeAction(tr("Run what is forecast"), {Qt::CTRL | Qt::Key_Return}, [this] { run(); });
  makeAction(tr("Back to how the run was"), {Qt::Key_0}, [this] { controls_->reset(); });
  fillHooks();
  showTold();
  showCurve();
  showHistory();
}

// Note [What a what-if is worked out of]
//
//   RunAnalyser::ready ─▶ prepare ─ runJob_ ─▶ run_      all that does not depend on a choice
//                                               │
//   controls: changed ─▶ chosen ─▶ ask ─ job_ ──┴─▶ told_      a part of a second
//                          └─▶ askScaling ─ scalingJob_ ─▶ curve_    seconds; by link and algorithm
//
// An answer takes longer than a frame, and a slider moves faster. So of each job there is one at a
// time, and what was chosen meanwhile is asked when it is done (askAgain_, scaleAgain_): nothing
// piles up on the pool. Of a run that goes on the scaling waits for its end.
void WhatIfView::runChanged() {
  for (BackgroundJob* job : {&runJob_, &job_, &scalingJob_}) {
    job->drop();
  }
  askAgain_ = scaleAgain_ = false;
  source_ = nullptr;
  run_ = nullptr;
  told_ = nullptr;
  curve_ = nullptr;
  controls_->setRun(nullptr);
  controls_->reset();
  if (analyser_ != nullptr) {
    // The first is awaited; of a live run there is one every two seconds.
    connect(analyser_, &RunAnalyser::ready, this,
            [this] { refreshSoon(source_ == nullptr ? 0 : kLookEveryMs); });
  }
  if (state_ != nullptr) {
    connect(state_, &ViewState::iterationChanged, this, [this] {
      // Out of sight it counts where the timeline shows the forecast.
      if (isVisible() || state_->forecast() != nullptr) {
        ask();
      }
    });
  }
  fillHooks();
  showTold();
  showCurve();
  showHistory();
}

void WhatIfView::refresh() {
  history_.measure();
  if (model_ == nullptr || analyser_ == nullptr) {
    return;
  }
  analyser_->want();
  prepare();
}

void WhatIfView::prepare() {
  auto run = analyser_->latest();
  if (run == nullptr || run == source_ || runJob_.busy()) {
    showTold();
    ask();  // of another iteration, perhaps
    return;
  }
  source_ = run;
  runJob_.start([run, info = model_->info(), ranks = model_->ranks(),
                 path = model_->path()] { return whatIfRun(run, info, ranks, path); },
                [this](std::shared_ptr<const WhatIfRun> made) {
                  run_ = std::move(made);
                  controls_->setRun(run_);
                  ask();
                  askScaling();
                  if (analyser_ != nullptr && analyser_->latest() != source_) {
                    refreshSoon(kLookEveryMs);
                  }
                });
}

void WhatIfView::chosen() {
  ask();
  const diagnosis::WantedChange wanted = controls_->wanted();
  if (wanted.link != scaled_.link || wanted.bandwidthGbps != scaled_.bandwidthGbps ||
      controls_->algorithm() != scaledBy_) {
    askScaling();
  }
  showCurve();
}

void WhatIfView::ask() {
  if (run_ == nullptr) {
    return;
  }
  if (job_.busy()) {
    askAgain_ = true;
    return;
  }
  job_.start(
      [run = run_, wanted = controls_->wanted(),
       step = state_ == nullptr ? std::nullopt : state_->iteration()] {
        return std::make_shared<const WhatIf>(whatIf(*run, wanted, step));
      },
      [this](std::shared_ptr<const WhatIf> told) {
        told_ = std::move(told);
        showTold();
        if (std::exchange(askAgain_, false)) {
          ask();
        }
      });
  controls_->blockRun(reasonAgainstRun());
}

void WhatIfView::askScaling() {
  if (scalingJob_.busy()) {
    scaleAgain_ = true;
    return;
  }
  if (run_ == nullptr || model_ == nullptr || model_->isLive()) {
    showCurve();
    return;
  }
  scaled_ = controls_->wanted();
  scaledBy_ = controls_->algorithm();
  scalingJob_.start(
      [run = run_, wanted = scaled_, algorithm = scaledBy_] {
        return std::make_shared<const ScalingCurve>(scalingCurve(*run, wanted, algorithm));
      },
      [this](std::shared_ptr<const ScalingCurve> curve) {
        curve_ = std::move(curve);
        showCurve();
        if (std::exchange(scaleAgain_, false)) {
          askScaling();
        }
      });
  showCurve();
}

void WhatIfView::showTold() {
  const bool known = told_ != nullptr && told_->known();
  say(outcomes_, known ? outcomesAsHtml(*told_) : QString());
  say(verdict_, known ? verdict(*told_) : QString());
  say(assumptions_, !failure_.isEmpty() ? failure_
                    : told_ == nullptr  ? tr("The iterations of this run are being read.")
                                        : assumptions(*told_));
  buckets_->setRows(whatIfRows(told_));
  foldBasis();
  sayScaling();
  sayPast();
  showWhetherItCan();
  showInTimeline();
  canvas_->setAccessibleDescription(told_ == nullptr ? QString() : spokenSummary(*told_));
  controls_->blockRun(reasonAgainstRun());
  repaintSoon();
}

// While nothing is forecast it says why, and so is in sight.
void WhatIfView::foldBasis() {
  const bool known = failure_.isEmpty() && told_ != nullptr && told_->known();
  showBasis_->setVisible(known);
  basis_->setVisible(!known || showBasis_->isChecked());
}

/// Under the measured iteration, wherever all ranks are drawn over time.
void WhatIfView::showInTimeline() {
  if (state_ == nullptr || model_ == nullptr) {
    return;
  }
  const auto step = told_ == nullptr ? std::nullopt : model_->stepOfAll(told_->step);
  state_->setForecast(step ? forecastIteration(*told_, step->startNs) : nullptr);
}

const ScalingCurve* WhatIfView::shownCurve() const {
  const bool isSaid = curve_ != nullptr && told_ != nullptr && curve_->addsNothingTo(told_->whyNot);
  return isSaid ? nullptr : curve_.get();
}

bool WhatIfView::cannotTell() const {
  const bool ofAny = run_ != nullptr && (!run_->refused.isEmpty() || !run_->forecaster.ok());
  return ofAny && failure_.isEmpty() && told_ != nullptr && !told_->known() &&
         !scalingJob_.busy() && shownCurve() == nullptr;
}

// Choices, an empty picture and empty tables would only ask to be tried. What earlier forecasts
// came to is there all the same.
void WhatIfView::showWhetherItCan() {
  const bool cannot = cannotTell();
  if (cannot) {
    QStringList all{told_->whyNot};
    if (model_->isLive()) {
      all << tr("It is asked again as the run goes on.");
    } else if (run_->refused.isEmpty()) {
      all << tr(
          "Run it again, for more iterations and with nothing else on the machine, and ask "
          "that run what if.");
    }
    if (!beside_->text().isEmpty()) {
      all << beside_->text();
    }
    cannot_->setSentence(all.join(QLatin1Char(' ')));
    cannot_->setOffered(!model_->isLive() && run_->refused.isEmpty());
  }
  const bool anyPast = !history_.forecasts().empty();
  tabs_->setVisible(!cannot || anyPast);
  if (cannot == std::exchange(saysCannot_, cannot)) {
    return;
  }
  forecast_->setEmpty(cannot);
  controls_->setVisible(!cannot);
  for (QWidget* of : {static_cast<QWidget*>(buckets_), static_cast<QWidget*>(byRanks_)}) {
    tabs_->setTabVisible(tabs_->indexOf(of), !cannot);
  }
  tabs_->setCurrentIndex(cannot ? tabs_->indexOf(pastForecasts_) : 0);
}

void WhatIfView::sayScaling() {
  const bool live = model_ != nullptr && model_->isLive();
  say(scaling_, live                      ? tr("More ranks are simulated when the run has ended.")
                : scalingJob_.busy()      ? tr("More ranks are being simulated, up to 4,096.")
                : shownCurve() != nullptr ? scalingWords(*curve_)
                                          : QString());
}

void WhatIfView::showCurve() {
  sayScaling();
  const int ranks = controls_->ranks();
  say(ranks_, ranks > 0 && curve_ != nullptr ? rankWords(*curve_, ranks) : QString());
  byRanks_->setRows(scalingRows(curve_));
  showWhetherItCan();
  controls_->blockRun(reasonAgainstRun());
  repaintSoon();
}

void WhatIfView::sayPast() {
  // Nobody is sent to a button that this run cannot have pressed.
  const bool cannotRun = !failure_.isEmpty() || (told_ != nullptr && !told_->known());
  const bool nothing = history_.forecasts().empty() && history_.damaged() == 0;
  say(past_, cannotRun && nothing ? QString() : historyWords(history_));
}

void WhatIfView::showHistory() {
  sayPast();
  const PastForecast* own =
      model_ == nullptr ? nullptr : history_.of(QString::fromStdString(model_->path().string()));
  say(beside_, own == nullptr ? QString() : besideWords(*own));
  pastForecasts_->setRows(historyRows(history_.forecasts()));
  pastForecasts_->fitColumns();
  showWhetherItCan();
}

void WhatIfView::setOtherRuns(const QStringList& paths) {
  if (otherRuns_ != paths) {  // an open list of choices stays as it is
    otherRuns_ = paths;
    fillHooks();
  }
}

void WhatIfView::setVerifiedHooks(std::vector<cost::VerifiedHook> hooks) {
  if (controls_->setVerifiedHooks(std::move(hooks))) {
    fillHooks();
  }
}

void WhatIfView::fillHooks() {
  QComboBox* hooks = controls_->hooks();
  const QSignalBlocker quiet(hooks);
  const QString before = hooks->currentData().toString();
  offerRuns(*hooks, tr("the hook of the run"), otherRuns_);
  controls_->offerVerifiedHooks();
  hooks->setCurrentIndex(std::max(0, hooks->findData(before)));
}

void WhatIfView::exportShown() {
  const auto* table = qobject_cast<TableView*>(tabs_->currentWidget());
  exportTable(this, *table->model(), QStringLiteral("what-if.csv"));
}

void WhatIfView::blockRun(const QString& why) {
  blocked_ = why;
  controls_->blockRun(reasonAgainstRun());
}

QString WhatIfView::reasonAgainstRun() const {
  const int ranks = controls_->ranks();
  if (!blocked_.isEmpty()) {
    return blocked_;
  }
  if (told_ == nullptr || !told_->known()) {
    return tr("Nothing is forecast that could be run");
  }
  if (job_.busy()) {
    return tr("The forecast is being worked out");
  }
  if (!told_->experiment) {
    return tr("No setting makes a machine compute faster, or a rank be like the others");
  }
  if (ranks == 0) {
    return told_->parts.isEmpty() ? tr("Nothing is changed yet") : QString();
  }
  if (ranks > mostToRun()) {
    return tr("An experiment has at most %1 ranks")
        .arg(formatCount(static_cast<std::uint64_t>(mostToRun())));
  }
  if (curve_ == nullptr || curve_->of(ranks) == nullptr || scalingJob_.busy()) {
    return tr("So many ranks are not simulated yet");
  }
  if (told_->experiment->link.shapes() && controls_->algorithm() != simulate::Algorithm::kRing) {
    return tr("A modelled link carries a ring: choose that to run it");
  }
  return {};
}

void WhatIfView::run() {
  if (!reasonAgainstRun().isEmpty()) {
    return;
  }
  experiment::Experiment experiment = *told_->experiment;
  PastForecast forecast;
  forecast.change = told_->parts.join(QStringLiteral(", "));
  if (const int ranks = controls_->ranks(); ranks > 0) {
    const QString on = tr("on %1").arg(formatCounted(static_cast<std::uint64_t>(ranks), "rank"));
    experiment.processes.worldSize = ranks;
    experiment.name += ' ' + on.toStdString();
    forecast.change += (forecast.change.isEmpty() ? QString() : QStringLiteral(", ")) + on;
    forecast.rank = PastForecast::kMeanOfRanks;
    forecast.stepNs = curve_->of(ranks)->stepNs;
    forecast.exposedNs = curve_->of(ranks)->exposedNs;
  } else {
    forecast.rank = told_->spoken().rank;
    forecast.stepNs = told_->spoken().stepNs;
    forecast.exposedNs = told_->spoken().exposedNs;
  }
  emit runRequested(experiment, forecast);
}

void WhatIfView::paintCanvas(DisplayList& list, QSizeF size) {
  const QRectF all(QPointF(0, 0), size);
  list.fill(all, colours().background);
  double top = 0;
  if (told_ != nullptr && told_->known()) {
    top = whatIfHeight(*told_);
    drawWhatIf(list, QRectF(0, 0, size.width(), top), *told_, colours());
    top += 12;
  }
  if (const ScalingCurve* curve = shownCurve(); curve != nullptr) {
    drawScaling(list,
                {QRectF(0, top, size.width(), std::max(size.height() - top, 0.0)),
                 controls_->ranks(), pointer_},
                *curve, colours());
  }
}

}  // namespace lockstep::ui
