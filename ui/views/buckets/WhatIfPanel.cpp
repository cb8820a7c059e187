#include "ui/views/buckets/WhatIfPanel.h"

#include <QHeaderView>
#include <QPainter>
#include <QSignalBlocker>
#include <QSlider>
#include <QTimer>
#include <algorithm>
#include <cmath>

#include "ui/canvas/PainterBackend.h"
#include "ui/stage/Boxes.h"
#include "ui/table/TableText.h"
#include "ui/table/TableView.h"
#include "ui/views/buckets/WhatIfLinks.h"
#include "ui/views/buckets/WhatIfScene.h"
#include "ui/views/buckets/WhatIfTable.h"

namespace lockstep::ui {
namespace {

constexpr int kCapSteps = 400;
constexpr std::size_t kStepsRead = 16;
constexpr int kRowsInSight = 4;  // with the titles

// Some iterations of the run with these buckets, evenly over it.
std::vector<std::uint32_t> stepsToRead(const RunModel& model, const BucketStory& story) {
  std::vector<std::uint32_t> steps;
  for (const StepSpan& step : model.steps(0, model.extent())) {
    const trace::BucketsMessage* layout = model.layoutAt(step.step);
    if (layout != nullptr && layout->layout == story.layout.layout && step.step != story.step) {
      steps.push_back(step.step);
    }
  }
  if (steps.size() > kStepsRead) {
    std::vector<std::uint32_t> few;
    for (std::size_t i = 0; i < kStepsRead; ++i) {
      // From the middle of each of 16 equal parts.
      few.push_back(steps[(2 * i + 1) * steps.size() / (2 * kStepsRead)]);
    }
    return few;
  }
  return steps;
}

}  // namespace

class WhatIfPanel::Strips : public QWidget {
 public:
  void show(std::shared_ptr<const WhatIf> told) {
    told_ = std::move(told);
    setFixedHeight(told_ == nullptr ? 0 : static_cast<int>(std::ceil(whatIfHeight(*told_))));
    setAccessibleDescription(told_ == nullptr ? QString() : spokenSummary(*told_));
    update();
  }
  void show(Theme theme) {
    theme_ = theme;
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    if (told_ != nullptr) {
      QPainter painter(this);
      DisplayList list;
      drawWhatIf(list, QRectF(rect()), *told_, Palette::of(theme_));
      paint(list, painter);
    }
  }

 private:
  std::shared_ptr<const WhatIf> told_;
  Theme theme_ = Theme::kLight;
};

WhatIfPanel::WhatIfPanel(QWidget* parent)
    : QWidget(parent),
      slider_(named(new QSlider(Qt::Horizontal), "whatIfCap", tr("Bucket cap to forecast"),
                    tr("Drag to another bucket cap; nothing is run"))),
      links_(new WhatIfLinks),
      cap_(new QLabel),
      outcomes_(named(new QLabel, "whatIfOutcomes")),
      verdict_(wrapped({}, "whatIfVerdict")),
      assumptions_(wrapped({}, "whatIfAssumptions")),
      strips_(named(new Strips, "", tr("Buckets as measured and as forecast"))),
      table_(new TableView(tr("Buckets of the forecast"))),
      export_(named(barButton(tr("Export CSV…")), "whatIfExport", {},
                    tr("Write the buckets of the forecast into a file"))),
      timer_(new QTimer(this)) {
  slider_->setRange(0, kCapSteps);
  slider_->setPageStep(kCapSteps / 20);
  cap_->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("0000.00 MiB")));
  verdict_->setContentsMargins(8, 2, 8, 2);
  verdict_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  assumptions_->setContentsMargins(8, 2, 8, 4);
  outcomes_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  table_->setRows(whatIfRows(nullptr));
  table_->horizontalHeader()->setStretchLastSection(false);
  outcomes_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  table_->setMinimumHeight(kRowsInSight * table_->verticalHeader()->defaultSectionSize());
  reset_ = barButton(tr("Cap of the run"), {}, tr("Back to the cap and the link that the run had"));
  export_->setEnabled(false);
  QToolButton* close =
      barButton(QStringLiteral("✕"), tr("Close the what-if"), tr("Close the what-if"));
  QHBoxLayout* head = inRow(
      {new QLabel(tr("What if bucket_cap_mb were")), {slider_, 1}, cap_, reset_, export_, close});
  head->setContentsMargins(8, 4, 4, 2);
  // In a low window the slider stays, and the rest is scrolled.
  auto* area = scrolled(
      fill(new QWidget, inColumn({outcomes_, verdict_, strips_, assumptions_, {table_, 1}}, 2)));
  fill(this, inColumn({head, links_, {area, 1}}, 2));
  timer_->setSingleShot(true);
  connect(timer_, &QTimer::timeout, this, &WhatIfPanel::readOne);
  connect(close, &QToolButton::clicked, this, &WhatIfPanel::closeWanted);
  connect(export_, &QToolButton::clicked, this,
          [this] { exportTable(this, *table_->model(), QStringLiteral("what-if.csv")); });
  connect(slider_, &QSlider::valueChanged, this, [this] {
    capChosen_ = true;
    compute();
  });
  connect(links_, &WhatIfLinks::changed, this, &WhatIfPanel::compute);
  connect(reset_, &QToolButton::clicked, this, [this] {
    capChosen_ = false;
    links_->reset();
    begin();
  });
}

WhatIfPanel::~WhatIfPanel() = default;

void WhatIfPanel::setRun(const RunModel* model, BucketStories* stories) {
  timer_->stop();
  model_ = model;
  stories_ = stories;
  story_ = nullptr;
  recorded_.clear();
  forecaster_.reset();
  steps_.clear();
  stepsThen_ = 0;
  capChosen_ = false;
}

// Note [Iterations for a forecast]
//
// A forecast is of the run and not of one iteration, so up to 16 iterations with the same buckets
// are read, evenly over the run. Making a story takes a while: they are read on this thread, one in
// each turn of the event loop, so that the slider can be dragged meanwhile, and none while the
// panel is hidden. Where that stands:
//
//    steps_        still to be read
//    recorded_     read
//    forecaster_   none while reading; then made of what was read and of the iteration shown
//
// Another layout drops all three. Another iteration with the same buckets keeps what was read. A
// run that has grown by half is read anew (begin()). Dragging the slider alone reads nothing.
void WhatIfPanel::setStory(std::shared_ptr<const BucketStory> story) {
  // Other buckets have other habits: what was read of the old ones is of no use.
  const bool otherBuckets =
      story == nullptr || story_ == nullptr || story->layout.layout != story_->layout.layout;
  if (otherBuckets) {
    recorded_.clear();
    forecaster_.reset();
    stepsThen_ = 0;
  }
  story_ = std::move(story);
  if (!otherBuckets && forecaster_) {
    makeForecaster();  // anew, with this iteration
  }
  begin();
}

void WhatIfPanel::setTheme(Theme theme) {
  strips_->show(theme);
}

void WhatIfPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  begin();
}

void WhatIfPanel::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  timer_->stop();
}

// Takes the limits of the slider from the story, and reads iterations: those that are left to be
// read, and anew where the run has grown by half since the last time.
void WhatIfPanel::begin() {
  if (!isVisible() || story_ == nullptr || model_ == nullptr || stories_ == nullptr) {
    return;
  }
  // From the smallest parameter, each of which would have a bucket, to all in one.
  leastCap_ = story_->bytes();
  for (const auto& parameter : story_->parameters) {
    leastCap_ = std::min(leastCap_, static_cast<std::uint64_t>(parameter.bytes));
  }
  leastCap_ = std::max<std::uint64_t>(leastCap_, 1);
  mostCap_ = std::max(story_->bytes(), 2 * leastCap_);
  if (const auto own = ownCap(*story_); own && !capChosen_) {
    setCap(*own);
  }
  const std::size_t count = model_->stepCount(0);
  // Read anew only when the run has grown by half: reading takes longer than what it would add.
  if (stepsThen_ == 0 || 2 * count >= 3 * stepsThen_) {
    stepsThen_ = count;
    recorded_.clear();
    forecaster_.reset();
    steps_ = stepsToRead(*model_, *story_);
  }
  // Also where hiding stopped it, or where the iteration shown before allowed no forecast.
  if (!forecaster_) {
    timer_->start(0);
  }
  compute();
}

void WhatIfPanel::readOne() {
  if (!isVisible() || stories_ == nullptr || story_ == nullptr) {
    return;
  }
  if (!steps_.empty()) {
    const auto story = stories_->ofStep(steps_.back());
    steps_.pop_back();
    if (story != nullptr && story->recorded.ok()) {
      recorded_.push_back(story->recorded.value());
    }
  }
  if (steps_.empty()) {
    makeForecaster();
    compute();
  } else {
    timer_->start(0);
  }
}

void WhatIfPanel::makeForecaster() {
  if (story_->settings == nullptr || !story_->recorded.ok()) {
    forecaster_.reset();
    return;
  }
  auto steps = recorded_;
  // With the iteration shown, which is one of the run as well.
  steps.push_back(story_->recorded.value());
  forecaster_ = cost::Forecaster::make(analysis::recordedRun(steps, *story_->settings));
}

// The slider's ends are the smallest parameter and all of them; between, each step is a factor.
std::uint64_t WhatIfPanel::capOfSlider() const {
  const auto own = story_ == nullptr ? std::nullopt : ownCap(*story_);
  // Exactly the run's cap, which the slider's steps may miss.
  if (own && !capChosen_) {
    return *own;
  }
  const double part = static_cast<double>(slider_->value()) / kCapSteps;
  const double ratio = static_cast<double>(mostCap_) / static_cast<double>(leastCap_);
  return static_cast<std::uint64_t>(
      std::llround(static_cast<double>(leastCap_) * std::pow(ratio, part)));
}

void WhatIfPanel::setCap(std::uint64_t bytes) {
  const double ratio = static_cast<double>(mostCap_) / static_cast<double>(leastCap_);
  const double part =
      std::log(static_cast<double>(bytes) / static_cast<double>(leastCap_)) / std::log(ratio);
  // Not a choice of the user (capChosen_).
  const QSignalBlocker quiet(slider_);
  slider_->setValue(static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * kCapSteps)));
}

void WhatIfPanel::compute() {
  if (!isVisible() || story_ == nullptr) {
    return;
  }
  const bool hasCap = capChosen_ || ownCap(*story_).has_value();
  cap_->setText(hasCap ? capText(capOfSlider()) : QString());
  reset_->setEnabled(hasCap);
  links_->setOwn(hasCap && story_->settings != nullptr ? &story_->settings->experiment.link
                                                       : nullptr);
  told_ = std::make_shared<const WhatIf>(
      whatIf(*story_, forecaster_, capOfSlider(), links_->wanted(), links_->text()));
  const bool known = told_->known();
  outcomes_->setText(known ? outcomesAsHtml(*told_) : QString());
  outcomes_->setVisible(known);
  verdict_->setText(verdict(*told_));
  verdict_->setVisible(known);
  assumptions_->setText(assumptions(*told_));
  // Where this cap is beyond what the run can tell, another may not be.
  slider_->setEnabled(known || (forecaster_ && forecaster_->ok()));
  table_->setVisible(known);
  export_->setEnabled(known);
  strips_->show(told_);
  table_->setRows(whatIfRows(told_));
}

}  // namespace lockstep::ui
