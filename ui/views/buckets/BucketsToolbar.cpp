#include "ui/views/buckets/BucketsToolbar.h"

#include <QButtonGroup>
#include <QComboBox>
#include <QEvent>
#include <QSignalBlocker>
#include <QSlider>
#include <cmath>

#include "ui/panels/ElidedLabel.h"
#include "ui/panels/KeyTips.h"
#include "ui/panels/OwnKeys.h"
#include "ui/stage/Boxes.h"
#include "ui/views/buckets/ReplayIcons.h"

namespace lockstep::ui {
namespace {

constexpr int kReplaySteps = 2000;

QToolButton* button(const QString& text, const QString& called, const char* name = "") {
  QToolButton* made = named(barButton(text), name, called);
  made->setFocusPolicy(Qt::TabFocus);
  return made;
}

}  // namespace

BucketsToolbar::BucketsToolbar(QWidget* parent)
    : QWidget(parent),
      initial_(button(tr("Initial"), tr("The buckets before the rebuild"), "initialLayout")),
      rebuilt_(button(tr("Rebuilt"), tr("The buckets after the rebuild"), "rebuiltLayout")),
      against_(named(new QComboBox, "orderAgainst", tr("Order to compare with"))),
      back_(button(QString(), tr("Previous event"))),
      play_(button(QString(), tr("Play the iteration"), "playReplay")),
      forward_(button(QString(), tr("Next event"))),
      slider_(named(new QSlider(Qt::Horizontal), "replaySlider", tr("Moment of the iteration"),
                    tr("Replays the iteration"))),
      text_(named(new ElidedLabel, "replayText")) {
  auto* group = new QButtonGroup(this);
  for (QToolButton* layout : {initial_, rebuilt_}) {
    layout->setCheckable(true);
    group->addButton(layout);
  }
  against_->addItem(tr("Against bucket order"));
  against_->addItem(tr("Against registration"));
  slider_->setRange(0, kReplaySteps);
  slider_->setValue(kReplaySteps);
  slider_->setSingleStep(kReplaySteps / 100);
  slider_->setPageStep(kReplaySteps / 10);
  slider_->setFocusPolicy(Qt::TabFocus);  // after the mouse, the keys are the stage's
  // Little enough for a window of 1024 pixels with the list of runs beside the views.
  slider_->setMinimumWidth(70);
  text_->setMinimumWidth(fontMetrics().horizontalAdvance('m') * 9);
  // As wide as there is room, whatever it says: the slider beside it keeps its place.
  text_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  for (QWidget* control : std::initializer_list<QWidget*>{initial_, rebuilt_, against_, back_,
                                                          play_, forward_, slider_}) {
    keepOwnKeys(control);
  }
  drawIcons();
  tellKeys();
  fill(this,
       inRow({initial_,
              rebuilt_,
              Part::gap(8),
              against_,
              Part::gap(12),
              back_,
              play_,
              forward_,
              {slider_, 2},
              {text_, 3}},
             4),
       {8, 3, 8, 3});

  connect(initial_, &QToolButton::clicked, this, [this] { emit layoutChosen(false); });
  connect(rebuilt_, &QToolButton::clicked, this, [this] { emit layoutChosen(true); });
  connect(against_, &QComboBox::activated, this, [this](int index) {
    emit againstChosen(index == 0 ? OrderAgainst::kBuckets : OrderAgainst::kRegistration);
  });
  connect(back_, &QToolButton::clicked, this, [this] { emit stepPressed(-1); });
  connect(forward_, &QToolButton::clicked, this, [this] { emit stepPressed(1); });
  connect(play_, &QToolButton::clicked, this, &BucketsToolbar::playPressed);
  connect(slider_, &QSlider::valueChanged, this,
          [this](int value) { emit replayMoved(static_cast<double>(value) / kReplaySteps); });
}

void BucketsToolbar::setCommands(const Commands& commands) {
  commands_ = commands;
  tellKeys();
}

void BucketsToolbar::tellKeys() {
  setTip(initial_, tr("The buckets before the rebuild"), commands_.layout);
  setTip(rebuilt_,
         both_ ? tr("The buckets after the rebuild") : tr("This run has not rebuilt its buckets"),
         both_ ? commands_.layout : nullptr);
  setTip(against_, tr("The order that the ready order is held against"), commands_.against);
  setTip(back_, tr("Previous event"), commands_.back);
  setTip(play_, playing_ ? tr("Pause") : tr("Play the iteration"), commands_.play);
  setTip(forward_, tr("Next event"), commands_.forward);
}

void BucketsToolbar::setLayouts(bool rebuilt, bool both) {
  initial_->setChecked(!rebuilt);
  rebuilt_->setChecked(rebuilt);
  initial_->setEnabled(both || !rebuilt);
  rebuilt_->setEnabled(both || rebuilt);
  both_ = both;
  tellKeys();
}

void BucketsToolbar::setAgainst(OrderAgainst against) {
  against_->setCurrentIndex(against == OrderAgainst::kBuckets ? 0 : 1);
}

void BucketsToolbar::setReplay(bool possible, double part, bool playing, const QString& text) {
  const QSignalBlocker quiet(slider_);
  slider_->setValue(static_cast<int>(std::lround(part * kReplaySteps)));
  for (QWidget* control : std::initializer_list<QWidget*>{slider_, back_, play_, forward_}) {
    control->setEnabled(possible);
  }
  if (playing != playing_) {
    playing_ = playing;
    drawIcons();
    tellKeys();
  }
  text_->setWords(text);
}

void BucketsToolbar::drawIcons() {
  const QColor colour = palette().color(QPalette::ButtonText);
  back_->setIcon(replayIcon(ReplayIcon::kBack, colour));
  play_->setIcon(replayIcon(playing_ ? ReplayIcon::kPause : ReplayIcon::kPlay, colour));
  forward_->setIcon(replayIcon(ReplayIcon::kForward, colour));
}

void BucketsToolbar::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) {
    drawIcons();
  }
}

}  // namespace lockstep::ui
