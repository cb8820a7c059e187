#include <QAction>
#include <QLayout>

#include "ui/views/buckets/BucketsTable.h"
#include "ui/views/buckets/BucketsToolbar.h"
#include "ui/views/buckets/BucketsView.h"
#include "ui/views/buckets/WhatIfPanel.h"

// What another bucket cap would have done: a pane in the place of the table, when it is asked for.
namespace lockstep::ui {

void BucketsView::makeWhatIf() {
  whatIf_ = new WhatIfPanel;
  whatIf_->hide();
  splitter_->insertWidget(1, whatIf_);
  splitter_->setCollapsible(1, false);
  QAction* shown = makeAction(tr("What if the bucket cap were another"), {Qt::Key_I}, [] {});
  shown->setIconText(tr("What if…"));
  shown->setToolTip(tr("Forecasts the iteration with another bucket cap"));
  shown->setCheckable(true);
  connect(shown, &QAction::toggled, this, [this](bool forecast) {
    // It has a table of its own, and takes the room of the other.
    table_->setVisible(!forecast);
    whatIf_->setVisible(forecast);
  });
  connect(whatIf_, &WhatIfPanel::closeWanted, shown, [this, shown] {
    shown->setChecked(false);
    stage_->setFocus(Qt::OtherFocusReason);
  });
  QToolButton* button = barButton(shown);
  button->setObjectName(QStringLiteral("whatIf"));
  toolbar_->layout()->addWidget(button);
}

}  // namespace lockstep::ui
