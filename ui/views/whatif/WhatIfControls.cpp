#include "ui/views/whatif/WhatIfControls.h"

#include <QCheckBox>
#include <QComboBox>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/NumberText.h"
#include "ui/model/Format.h"
#include "ui/stage/Boxes.h"
#include "ui/views/whatif/ScalingCurve.h"
#include "ui/views/whatif/WhatIf.h"
#include "ui/views/whatif/WhatIfLinks.h"

namespace lockstep::ui {
namespace {

constexpr int kCapSteps = 400;
constexpr int kLeastPercent = 25;  // of what computing took
constexpr int kMostPercent = 200;
constexpr int kAsItWas = 100;
constexpr int kLeastChoice = 90;  // px that a choice has in a narrow window

QComboBox* choices(const char* name, const QString& called, const QString& tip) {
  QComboBox* box = named(new QComboBox, name, called, tip);
  box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  box->setMinimumWidth(kLeastChoice);
  return box;
}

/// What a verified hook is in the list of hooks, where runs are paths.
QString entryOf(const std::shared_ptr<const cost::VerifiedHook>& hook) {
  return QStringLiteral("hook:") + QString::fromStdString(hook->hook.name);
}

}  // namespace

WhatIfControls::WhatIfControls(QWidget* parent)
    : QWidget(parent),
      cap_(named(new QSlider(Qt::Horizontal), "whatIfCap", tr("Bucket cap to forecast"),
                 tr("Drag to another bucket cap; nothing is run"))),
      capText_(new QLabel),
      tuned_(named(new QCheckBox(tr("the tuner's &list")), "whatIfTuned", {},
                   tr("Buckets that end where lockstep tune would end them"))),
      links_(new WhatIfLinks),
      hooks_(choices(
          "whatIfHook", tr("Hook to forecast"),
          tr("The hook of another run, with the work that it was measured to do there, or one "
             "that was verified on this machine, with what that measured"))),
      computing_(named(new QSlider(Qt::Horizontal), "whatIfComputing",
                       tr("Computing to forecast, in parts of what it took"),
                       tr("What forward and backward take; the optimizer, data and waiting take "
                          "what they took"))),
      computingText_(new QLabel),
      rank_(choices("whatIfRank", tr("A rank without what it takes longer"),
                    tr("A rank that takes no longer for its work than the middle of the others"))),
      manyRanks_(choices("whatIfRanks", tr("Number of ranks to forecast"),
                         tr("How many ranks, simulated from those that were recorded"))),
      algorithms_(choices("whatIfAlgorithm", tr("Allreduce among more ranks"),
                          tr("How an allreduce goes among more ranks"))),
      run_(named(new QPushButton(tr("&Run this")), "whatIfRun")) {
  cap_->setRange(0, kCapSteps);
  cap_->setPageStep(kCapSteps / 20);
  computing_->setRange(kLeastPercent, kMostPercent);
  computing_->setValue(kAsItWas);
  computing_->setMaximumWidth(160);
  computing_->setMinimumWidth(kLeastChoice);
  capText_->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("0000.00 MiB")));
  computingText_->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("× 0.00 ")));
  hooks_->addItem(tr("the hook of the run"), QString());
  for (const auto& [text, algorithm] :
       {std::pair{tr("the fastest allreduce"), simulate::Algorithm::kFastest},
        {tr("by a ring"), simulate::Algorithm::kRing},
        {tr("by trees"), simulate::Algorithm::kTree},
        {tr("in two levels"), simulate::Algorithm::kTwoLevels}}) {
    algorithms_->addItem(text, static_cast<int>(algorithm));
  }
  QToolButton* back =
      named(barButton(tr("As the run was"), {}, tr("Back to all that the run had")), "whatIfReset");
  fill(this,
       inColumn({inRow({labelOf(cap_, tr("What if &bucket_cap_mb were")),
                        {cap_, 1},
                        capText_,
                        tuned_,
                        back,
                        run_}),
                 inRow({links_, labelOf(hooks_, tr("the &hook")), hooks_, Part::rest()}, 6),
                 inRow({labelOf(computing_, tr("c&omputing")), computing_, computingText_,
                        labelOf(rank_, tr("ran&k")), rank_, labelOf(manyRanks_, tr("ra&nks")),
                        manyRanks_, algorithms_, Part::rest()},
                       6)},
                2),
       {8, 4, 8, 2});
  connect(cap_, &QSlider::valueChanged, this, [this] {
    capChosen_ = true;
    moved();
  });
  connect(tuned_, &QCheckBox::toggled, this, &WhatIfControls::moved);
  connect(links_, &WhatIfLinks::changed, this, &WhatIfControls::moved);
  connect(computing_, &QSlider::valueChanged, this, &WhatIfControls::moved);
  for (QComboBox* box : {hooks_, rank_, manyRanks_, algorithms_}) {
    connect(box, &QComboBox::activated, this, &WhatIfControls::moved);
  }
  connect(back, &QToolButton::clicked, this, &WhatIfControls::reset);
  connect(run_, &QPushButton::clicked, this, &WhatIfControls::runRequested);
  showState();
}

void WhatIfControls::setRun(std::shared_ptr<const WhatIfRun> run) {
  of_ = std::move(run);
  if (of_ == nullptr) {
    capChosen_ = false;
  }
  fillRanks();
  showState();
}

void WhatIfControls::reset() {
  {
    const QSignalBlocker ofTuned(tuned_);
    const QSignalBlocker ofComputing(computing_);
    tuned_->setChecked(false);
    computing_->setValue(kAsItWas);
  }
  links_->reset();
  for (QComboBox* box : {hooks_, rank_, manyRanks_, algorithms_}) {
    box->setCurrentIndex(0);
  }
  capChosen_ = false;
  moved();
}

void WhatIfControls::moved() {
  showState();
  emit changed();
}

/// Filled anew only for another number of ranks, or an open list would close.
void WhatIfControls::fillRanks() {
  const int own =
      of_ != nullptr && of_->recorded.ok() ? of_->recorded.value().settings.worldSize : 0;
  if (own + 1 == rank_->count()) {
    return;
  }
  rank_->clear();
  rank_->addItem(tr("all as they were"), -1);
  for (int rank = 0; rank < own; ++rank) {
    rank_->addItem(tr("%1 like the others").arg(rank), rank);
  }
  manyRanks_->clear();
  manyRanks_->addItem(tr("as many as recorded"), 0);
  if (own > 0) {
    for (const int ranks : scaledRanks(own)) {
      manyRanks_->addItem(formatCount(static_cast<std::uint64_t>(ranks)), ranks);
    }
  }
}

// What the widgets show and allow. A simulation of more ranks knows no other change than the link,
// so that the others rest meanwhile.
void WhatIfControls::showState() {
  const bool can = of_ != nullptr && of_->refused.isEmpty() && of_->forecaster.ok();
  const auto own = of_ == nullptr ? std::nullopt : of_->ownCap();
  const bool alone = ranks() == 0;
  if (own && !capChosen_) {
    setCap(*own);
  }
  capText_->setText(can && own ? capText(capBytes()) : QString());
  cap_->setEnabled(can && own && alone && !tuned_->isChecked());
  cap_->setToolTip(can && !own ? tr("This run gives a list of caps: there is no one cap to change.")
                               : tr("Drag to another bucket cap; nothing is run"));
  tuned_->setEnabled(can && alone && !of_->tunedMb.empty());
  links_->setOwn(can ? &of_->recorded.value().settings.experiment.link : nullptr);
  links_->inFlight()->setEnabled(alone);
  hooks_->setEnabled(can && alone);
  computing_->setEnabled(can && alone);
  computingText_->setText(QStringLiteral("× %1").arg(computing_->value() / 100.0, 0, 'f', 2));
  rank_->setEnabled(can && alone);
  manyRanks_->setEnabled(of_ != nullptr && of_->forecaster.ok());
  algorithms_->setEnabled(manyRanks_->isEnabled());
}

bool WhatIfControls::setVerifiedHooks(std::vector<cost::VerifiedHook> hooks) {
  const auto before = std::exchange(verified_, {});
  for (cost::VerifiedHook& hook : hooks) {
    verified_.push_back(std::make_shared<const cost::VerifiedHook>(std::move(hook)));
  }
  return !std::ranges::equal(before, verified_, {}, entryOf, entryOf);
}

void WhatIfControls::offerVerifiedHooks() {
  for (const auto& hook : verified_) {
    hooks_->addItem(tr("%1, as it was verified").arg(QString::fromStdString(hook->hook.name)),
                    entryOf(hook));
  }
}

void WhatIfControls::blockRun(const QString& why) {
  run_->setEnabled(why.isEmpty());
  run_->setToolTip(why.isEmpty() ? tr("Runs a copy of the experiment with this, and sets what it "
                                      "measures beside the forecast")
                                 : why);
}

diagnosis::WantedChange WhatIfControls::wanted() const {
  diagnosis::WantedChange wanted;
  links_->addTo(wanted);
  if (ranks() != 0) {
    wanted.inFlight.reset();
    return wanted;
  }
  if (tuned_->isChecked() && of_ != nullptr) {
    wanted.capListMb = of_->tunedMb;
  } else if (capChosen_) {
    wanted.capMb = static_cast<double>(capBytes()) / base::kMiB;
  }
  const QString hook = hooks_->currentData().toString();
  const auto verified = std::ranges::find(verified_, hook, entryOf);
  if (verified != verified_.end()) {
    wanted.verifiedHook = *verified;
  } else {
    wanted.hookOf = hook.toStdString();
  }
  if (computing_->value() != kAsItWas) {
    wanted.computeFactor = computing_->value() / 100.0;
  }
  if (rank_->currentIndex() > 0) {
    wanted.withoutExcessOf = rank_->currentData().toInt();
  }
  return wanted;
}

int WhatIfControls::ranks() const {
  return std::max(manyRanks_->currentData().toInt(), 0);
}

simulate::Algorithm WhatIfControls::algorithm() const {
  return static_cast<simulate::Algorithm>(algorithms_->currentData().toInt());
}

// The slider's ends are the smallest parameter and all of them; between, each step is a factor.
std::uint64_t WhatIfControls::capBytes() const {
  const double part = static_cast<double>(cap_->value()) / kCapSteps;
  const auto least = static_cast<double>(of_->leastCap());
  const auto most = static_cast<double>(std::max(of_->mostCap(), 2 * of_->leastCap()));
  // Exactly the run's cap, which the slider's steps may miss.
  const auto own = of_->ownCap();
  return own && !capChosen_
             ? *own
             : static_cast<std::uint64_t>(std::llround(least * std::pow(most / least, part)));
}

void WhatIfControls::setCap(std::uint64_t bytes) {
  const auto least = static_cast<double>(of_->leastCap());
  const auto most = static_cast<double>(std::max(of_->mostCap(), 2 * of_->leastCap()));
  const double part = std::log(static_cast<double>(bytes) / least) / std::log(most / least);
  // Not a choice of the user (capChosen_).
  const QSignalBlocker quiet(cap_);
  cap_->setValue(static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * kCapSteps)));
}

}  // namespace lockstep::ui
