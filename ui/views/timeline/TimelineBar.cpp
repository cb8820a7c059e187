#include "ui/views/timeline/TimelineBar.h"

#include <QAction>
#include <QComboBox>
#include <QPainter>
#include <cmath>
#include <vector>

#include "ui/canvas/PainterBackend.h"
#include "ui/model/Format.h"
#include "ui/panels/KeyTips.h"
#include "ui/panels/OwnKeys.h"
#include "ui/stage/Boxes.h"
#include "ui/views/timeline/TimelineLegend.h"

namespace lockstep::ui {

// What the colours mean, in as many lines as that takes.
class TimelineBar::Legend : public QWidget {
 public:
  Legend() {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setMinimumWidth(60);
  }

  void show(Theme theme) {
    theme_ = theme;
    update();
  }
  /// The legend names what the run holds, which grows.
  void show(const RunModel* model, ColourBy by) {
    entries_.clear();
    if (model != nullptr) {
      entries_ = timelineLegend(*model, by, Palette::of(theme_));
    }
    fit();
    update();
  }
  [[nodiscard]] QSize sizeHint() const override { return {400, 24}; }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    DisplayList list;
    drawLegend(list, QRectF(rect()).adjusted(kLeft, 0, 0, 0), entries_, Palette::of(theme_));
    paint(list, painter);
  }
  void resizeEvent(QResizeEvent*) override { fit(); }

 private:
  // The layouts around it ask once for its height, and a run brings more to be told later.
  void fit() {
    setFixedHeight(static_cast<int>(std::ceil(legendHeight(entries_, width() - kLeft))));
  }

  static constexpr int kLeft = 8;
  std::vector<LegendEntry> entries_;
  Theme theme_ = Theme::kLight;
};

TimelineBar::TimelineBar(QWidget* parent) : RunPart(parent) {
  colourBy_ = named(new QComboBox, "colourBy", tr("Colour by"));
  colourBy_->addItem(tr("Colour by phase"), static_cast<int>(ColourBy::kPhase));
  colourBy_->addItem(tr("Colour by bucket"), static_cast<int>(ColourBy::kBucket));
  colourBy_->addItem(tr("Colour by hook"), static_cast<int>(ColourBy::kHook));
  colourBy_->addItem(tr("Colour by wait"), static_cast<int>(ColourBy::kWait));
  keepOwnKeys(colourBy_);
  legend_ = new Legend;
  status_ = named(new QLabel, "timelineStatus");
  clear_ = barButton(tr("Clear filter"));
  row_ = inRow({colourBy_, {status_, 1}, clear_});
  row_->setContentsMargins(8, 3, 8, 0);
  status_->setAlignment(kToTheRight);
  // A row of its own: what else the bar has to say must not move the lanes above it.
  fill(this, inColumn({row_, legend_}, 0));
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

void TimelineBar::runChanged() {
  if (model_ != nullptr) {
    connect(model_, &RunModel::infoChanged, this, &TimelineBar::refresh);
    connect(model_, &RunModel::loaded, this, &TimelineBar::refresh);
  }
  if (state_ != nullptr) {
    connect(state_, &ViewState::colourByChanged, this, &TimelineBar::refresh);
    connect(state_, &ViewState::filterChanged, this, &TimelineBar::refresh);
    connect(state_, &ViewState::iterationChanged, this, &TimelineBar::refresh);
  }
  refresh();
}

void TimelineBar::setTheme(Theme theme) {
  legend_->show(theme);
  refresh();
}

void TimelineBar::addButton(QAction* action) {
  QToolButton* button = barButton(action);
  button->setPopupMode(QToolButton::InstantPopup);  // of a menu's action: opens the menu
  row_->insertWidget(1, button);
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
  }
  legend_->show(model_, state_ != nullptr ? state_->colourBy() : ColourBy::kPhase);
}

}  // namespace lockstep::ui
