#include "ui/views/timeline/TimelineBar.h"

#include <QAction>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>

#include "ui/canvas/PainterBackend.h"
#include "ui/model/Format.h"
#include "ui/panels/KeyTips.h"
#include "ui/panels/OwnKeys.h"
#include "ui/views/timeline/TimelineScene.h"

namespace lockstep::ui {

// What the colours mean, as far as there is room.
class TimelineBar::Legend : public QWidget {
 public:
  using QWidget::QWidget;

  void show(RunModel* model) {
    model_ = model;
    update();
  }
  void show(ColourBy by) {
    by_ = by;
    update();
  }
  void show(Theme theme) {
    theme_ = theme;
    update();
  }
  [[nodiscard]] RunModel* model() const { return model_; }
  [[nodiscard]] QSize sizeHint() const override { return {400, 24}; }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    DisplayList list;
    if (model_ != nullptr) {
      TimelineScene::drawLegend(list, QRectF(rect()).adjusted(8, 0, 0, 0), Palette::of(theme_),
                                *model_, by_);
    }
    paint(list, painter);
  }

 private:
  QPointer<RunModel> model_;
  ColourBy by_ = ColourBy::kPhase;
  Theme theme_ = Theme::kLight;
};

TimelineBar::TimelineBar(QWidget* parent) : QWidget(parent) {
  colourBy_ = new QComboBox;
  colourBy_->setObjectName(QStringLiteral("colourBy"));
  colourBy_->addItem(tr("Colour by phase"), static_cast<int>(ColourBy::kPhase));
  colourBy_->addItem(tr("Colour by bucket"), static_cast<int>(ColourBy::kBucket));
  colourBy_->addItem(tr("Colour by hook"), static_cast<int>(ColourBy::kHook));
  colourBy_->addItem(tr("Colour by wait"), static_cast<int>(ColourBy::kWait));
  colourBy_->setAccessibleName(tr("Colour by"));
  keepOwnKeys(colourBy_);
  legend_ = new Legend;
  legend_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  legend_->setMinimumWidth(60);
  status_ = new QLabel;
  status_->setObjectName(QStringLiteral("timelineStatus"));
  clear_ = new QToolButton;
  clear_->setText(tr("Clear filter"));
  clear_->setAutoRaise(true);
  clear_->setFocusPolicy(Qt::NoFocus);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(8, 3, 8, 3);
  row->addWidget(colourBy_);
  row->addWidget(legend_, 1);
  row->addWidget(status_);
  row->addWidget(clear_);
  connect(colourBy_, &QComboBox::activated, this, [this](int index) {
    if (state_ != nullptr) {
      state_->setColourBy(static_cast<ColourBy>(colourBy_->itemData(index).toInt()));
    }
    if (parentWidget() != nullptr) {
      parentWidget()->setFocus(Qt::OtherFocusReason);  // the keys belong to the timeline
    }
  });
  connect(clear_, &QToolButton::clicked, this, [this] {
    if (state_ != nullptr) {
      state_->setFilter(std::nullopt);
    }
  });
  refresh();
}

TimelineBar::~TimelineBar() = default;

void TimelineBar::setModel(RunModel* model) {
  if (legend_->model() != nullptr) {
    legend_->model()->disconnect(this);
  }
  legend_->show(model);
  if (model != nullptr) {
    // The legend names what the run holds, which grows.
    connect(model, &RunModel::infoChanged, this, [this] { legend_->update(); });
    connect(model, &RunModel::loaded, this, [this] { legend_->update(); });
  }
}

void TimelineBar::setState(ViewState* state) {
  if (state_ != nullptr) {
    state_->disconnect(this);
  }
  state_ = state;
  if (state_ != nullptr) {
    connect(state_, &ViewState::colourByChanged, this, &TimelineBar::refresh);
    connect(state_, &ViewState::filterChanged, this, &TimelineBar::refresh);
    connect(state_, &ViewState::iterationChanged, legend_, qOverload<>(&QWidget::update));
  }
  refresh();
}

void TimelineBar::setTheme(Theme theme) {
  legend_->show(theme);
}

void TimelineBar::addButton(QAction* action) {
  auto* button = new QToolButton;
  button->setDefaultAction(action);
  button->setPopupMode(QToolButton::InstantPopup);  // of a menu's action: opens the menu
  button->setAutoRaise(true);
  button->setFocusPolicy(Qt::NoFocus);
  auto* row = static_cast<QHBoxLayout*>(layout());
  row->insertWidget(1, button);
}

void TimelineBar::setCommands(const Commands& commands) {
  setTip(colourBy_, tr("What the colours of the timeline tell apart"), commands.colour);
  setTip(clear_, tr("Let statistics follow the whole run again"), commands.clear);
  freeze_ = commands.freeze;
  connect(freeze_, &QAction::changed, this, &TimelineBar::refresh);
}

void TimelineBar::setFrozen(bool frozen) {
  frozen_ = frozen;
  refresh();
}

void TimelineBar::refresh() {
  QStringList parts;
  const bool filtered = state_ != nullptr && state_->filter().has_value();
  if (frozen_) {
    const QString key = keyText(freeze_);
    parts << (key.isEmpty() ? tr("Stands still") : tr("Stands still (%1 goes on)").arg(key));
  }
  if (filtered) {
    parts << tr("Statistics: %1").arg(formatDuration(state_->filter()->lengthNs()));
  }
  status_->setText(parts.join(QStringLiteral("  ·  ")));
  clear_->setVisible(filtered);
  if (state_ != nullptr) {
    colourBy_->setCurrentIndex(colourBy_->findData(static_cast<int>(state_->colourBy())));
    legend_->show(state_->colourBy());
  }
}

}  // namespace lockstep::ui
