#include "ui/views/compare/TwinTimelines.h"

#include <QComboBox>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>
#include <algorithm>

#include "ui/model/Format.h"
#include "ui/stage/Boxes.h"
#include "ui/views/compare/CompareResult.h"

namespace lockstep::ui {
namespace {

constexpr double kTwinMargin = 0.05;  // of the longer iteration, on both sides of it

QSpinBox* iterationBox() {
  auto* box = new QSpinBox;
  box->setKeyboardTracking(false);
  box->setToolTip(QObject::tr("The iteration that is aligned at the left"));
  return box;
}

}  // namespace

TwinTimelines::TwinTimelines(QWidget* parent)
    : QWidget(parent),
      a_(new TwinPane),
      b_(new TwinPane),
      iterationA_(iterationBox()),
      iterationB_(iterationBox()),
      nameB_(new QLabel),
      labelA_(new QLabel),
      labelB_(new QLabel),
      colour_(new QComboBox) {
  a_->setAccessibleName(tr("Timeline of run A"));
  b_->setAccessibleName(tr("Timeline of the other run"));
  iterationA_->setAccessibleName(tr("Iteration of A"));
  iterationB_->setAccessibleName(tr("Iteration of the other run"));
  for (const auto& [by, name] : {std::pair{ColourBy::kPhase, tr("Phase")},
                                 {ColourBy::kBucket, tr("Bucket")},
                                 {ColourBy::kHook, tr("Hook")},
                                 {ColourBy::kWait, tr("Wait")}}) {
    colour_->addItem(name, static_cast<int>(by));
  }
  colour_->setAccessibleName(tr("Colour by"));
  colour_->setToolTip(tr("What the colours of both timelines tell"));
  auto* fit = new QPushButton(tr("Fit"));
  fit->setToolTip(tr("Show the whole of both iterations"));

  QHBoxLayout* bar =
      inRow({new QLabel(tr("Iteration of A")), iterationA_, labelA_, Part::gap(12), nameB_,
             iterationB_, labelB_, Part::rest(), new QLabel(tr("Colour by")), colour_, fit});
  QSplitter* panes = split(Qt::Vertical, {{a_, 0}, {b_, 0}});
  panes->setChildrenCollapsible(false);
  fill(this, inColumn({bar, {panes, 1}}), {0, 4, 0, 0});

  connect(a_, &TwinPane::rangeMoved, this, [this] { b_->follow(a_->relativeRange()); });
  connect(b_, &TwinPane::rangeMoved, this, [this] { a_->follow(b_->relativeRange()); });
  connect(a_, &TwinPane::spanSelected, b_, &TwinPane::selectCounterpart);
  connect(b_, &TwinPane::spanSelected, a_, &TwinPane::selectCounterpart);
  connect(fit, &QPushButton::clicked, this, &TwinTimelines::align);
  connect(colour_, &QComboBox::currentIndexChanged, this, [this] {
    const auto by = static_cast<ColourBy>(colour_->currentData().toInt());
    a_->colourBy(by);
    b_->colourBy(by);
  });
  // Either box sets both panes; the one that did not change keeps its iteration.
  const auto moved = [this] { setIterations(iterationA_->value(), iterationB_->value()); };
  connect(iterationA_, &QSpinBox::valueChanged, this, moved);
  connect(iterationB_, &QSpinBox::valueChanged, this, moved);
}

void TwinTimelines::showRuns(RunModel* a, std::uint32_t iterationA, RunModel* b, std::size_t runB,
                             std::uint32_t iterationB) {
  // The same two runs, analysed anew: what the user looks at stays.
  const bool same = a != nullptr && b != nullptr && a == a_->model() && b == b_->model() &&
                    a_->iteration() && b_->iteration();
  a_->setModel(a, 0);
  b_->setModel(b, runB);
  nameB_->setText(tr("iteration of %1").arg(letterOf(runB)));
  if (!same) {
    setIterations(iterationA, iterationB);
    align();
  }
  showIterations();
}

void TwinTimelines::goTo(std::uint32_t iterationA, int rankA, std::uint32_t iterationB, int rankB,
                         std::uint16_t bucket) {
  setIterations(iterationA, iterationB);
  align();
  if (bucket != trace::kNoBucket) {
    a_->selectBucket(rankA, bucket);
    b_->selectBucket(rankB, bucket);
  }
}

void TwinTimelines::setTheme(Theme theme) {
  a_->setTheme(theme);
  b_->setTheme(theme);
}

void TwinTimelines::setIterations(std::uint32_t a, std::uint32_t b) {
  a_->setIteration(a);
  b_->setIteration(b);
  showIterations();
}

// Both panes show as much time as the longer iteration takes, so that lengths compare.
void TwinTimelines::align() {
  const double longest = std::max(a_->iterationNs().value_or(0), b_->iterationNs().value_or(0));
  if (longest > 0) {
    const TimeRange relative{-longest * kTwinMargin, longest * (1 + kTwinMargin)};
    a_->follow(relative);
    b_->follow(relative);
  }
}

void TwinTimelines::showIterations() {
  const auto showIn = [](TwinPane* pane, QSpinBox* box, QLabel* label) {
    const QSignalBlocker quiet(box);
    RunModel* model = pane->model();
    // Of rank 0: on a live run the others may be an iteration before or after it.
    const auto last = model == nullptr ? std::nullopt : model->lastStep(0);
    const auto first = model == nullptr ? std::nullopt : model->firstStep();
    box->setEnabled(last.has_value());
    box->setRange(static_cast<int>(first.value_or(0)), last ? static_cast<int>(last->step) : 0);
    if (pane->iteration()) {
      box->setValue(static_cast<int>(*pane->iteration()));
    }
    const auto length = pane->iterationNs();
    label->setText(length ? formatDuration(*length) : QString());
  };
  showIn(a_, iterationA_, labelA_);
  showIn(b_, iterationB_, labelB_);
}

}  // namespace lockstep::ui
