#include "ui/views/buckets/BucketsToolbar.h"

#include <QButtonGroup>
#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>
#include <QToolButton>
#include <cmath>

#include "ui/views/buckets/ReplayIcons.h"

namespace lockstep::ui {
namespace {

constexpr int kSliderSteps = 2000;

QToolButton* button(const QString& text, const QString& tip) {
  auto* made = new QToolButton;
  made->setText(text);
  made->setToolTip(tip);
  made->setAccessibleName(tip);
  made->setAutoRaise(true);
  made->setFocusPolicy(Qt::TabFocus);
  return made;
}

}  // namespace

BucketsToolbar::BucketsToolbar(QWidget* parent)
    : QWidget(parent),
      initial_(button(tr("Initial"), tr("The buckets before the rebuild (R)"))),
      rebuilt_(button(tr("Rebuilt"), tr("The buckets after the rebuild (R)"))),
      against_(new QComboBox),
      back_(button(QString(), tr("Previous event (Left)"))),
      play_(button(QString(), tr("Play the iteration (Space)"))),
      forward_(button(QString(), tr("Next event (Right)"))),
      slider_(new QSlider(Qt::Horizontal)),
      text_(new QLabel) {
  auto* group = new QButtonGroup(this);
  for (QToolButton* layout : {initial_, rebuilt_}) {
    layout->setCheckable(true);
    group->addButton(layout);
  }
  initial_->setObjectName("initialLayout");
  rebuilt_->setObjectName("rebuiltLayout");
  play_->setObjectName("playReplay");
  against_->setObjectName("orderAgainst");
  against_->addItem(tr("Against bucket order"));
  against_->addItem(tr("Against registration"));
  against_->setToolTip(tr("The order that the ready order is held against (O)"));
  against_->setAccessibleName(tr("Order to compare with"));
  slider_->setObjectName("replaySlider");
  slider_->setRange(0, kSliderSteps);
  slider_->setValue(kSliderSteps);
  slider_->setMinimumWidth(120);
  slider_->setToolTip(tr("Replays the iteration"));
  slider_->setAccessibleName(tr("Moment of the iteration"));
  text_->setObjectName("replayText");
  text_->setMinimumWidth(fontMetrics().horizontalAdvance('m') * 14);
  drawIcons();
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(8, 3, 8, 3);
  row->setSpacing(4);
  row->addWidget(initial_);
  row->addWidget(rebuilt_);
  row->addSpacing(8);
  row->addWidget(against_);
  row->addSpacing(12);
  row->addWidget(back_);
  row->addWidget(play_);
  row->addWidget(forward_);
  row->addWidget(slider_, 2);
  row->addWidget(text_, 3);

  connect(initial_, &QToolButton::clicked, this, [this] { emit layoutChosen(false); });
  connect(rebuilt_, &QToolButton::clicked, this, [this] { emit layoutChosen(true); });
  connect(against_, &QComboBox::activated, this, [this](int index) {
    emit againstChosen(index == 0 ? OrderAgainst::kBuckets : OrderAgainst::kRegistration);
  });
  connect(back_, &QToolButton::clicked, this, [this] { emit stepPressed(-1); });
  connect(forward_, &QToolButton::clicked, this, [this] { emit stepPressed(1); });
  connect(play_, &QToolButton::clicked, this, &BucketsToolbar::playPressed);
  connect(slider_, &QSlider::valueChanged, this,
          [this](int value) { emit replayMoved(static_cast<double>(value) / kSliderSteps); });
}

void BucketsToolbar::setLayouts(bool rebuilt, bool both) {
  initial_->setChecked(!rebuilt);
  rebuilt_->setChecked(rebuilt);
  initial_->setEnabled(both || !rebuilt);
  rebuilt_->setEnabled(both || rebuilt);
  if (!both) {
    rebuilt_->setToolTip(tr("This run has not rebuilt its buckets"));
  } else {
    rebuilt_->setToolTip(tr("The buckets after the rebuild (R)"));
  }
}

void BucketsToolbar::setReplay(bool possible, double part, bool playing, const QString& text) {
  const QSignalBlocker quiet(slider_);
  slider_->setValue(static_cast<int>(std::lround(part * kSliderSteps)));
  for (QWidget* control : std::initializer_list<QWidget*>{slider_, back_, play_, forward_}) {
    control->setEnabled(possible);
  }
  if (playing != playing_) {
    playing_ = playing;
    drawIcons();
  }
  play_->setToolTip(playing ? tr("Pause (Space)") : tr("Play the iteration (Space)"));
  text_->setText(text);
  text_->setToolTip(text);
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
