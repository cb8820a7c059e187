#include <QAction>
#include <QMenu>

#include "ui/model/CounterFacts.h"
#include "ui/views/timeline/CounterMenu.h"
#include "ui/views/timeline/CounterPanel.h"
#include "ui/views/timeline/TimelineBar.h"
#include "ui/views/timeline/TimelineView.h"

// The counters of the timeline: what is plotted under the ranks, and the table of it.
namespace lockstep::ui {

void TimelineView::makeCounterActions() {
  QAction* all =
      makeAction(tr("Show counters, or none"), {Qt::Key_V}, [this] { counterMenu_->toggleAll(); });
  QAction* table = makeAction(tr("Counters as a table"), {Qt::SHIFT | Qt::Key_V}, [] {});
  table->setCheckable(true);
  connect(table, &QAction::toggled, this, [this](bool shown) {
    counterPanel_->setVisible(shown);
    updateScrollBar();
  });
  connect(counterPanel_, &CounterPanel::closeWanted, table, [this, table] {
    table->setChecked(false);
    setFocus(Qt::OtherFocusReason);
  });
  connect(counterPanel_, &CounterPanel::placeWanted, this, &TimelineView::goToTime);
  counterMenu_->setCommands(all, table);
  bar_->addButton(counterMenu_->menuAction());
}

void TimelineView::goToTime(double ns) {
  if (controller_.ready()) {
    const double half = state_->range().lengthNs() / 2;
    state_->setRange({ns - half, ns + half});
    changedByUser();
  }
}

// What the menu of the right button offers for the counter under it.
void TimelineView::addCounterVerbs(QMenu& menu, QPointF position) {
  const auto hit = controller_.counterAt(position);
  const CounterSeries* series = hit ? model_->counters().find(hit->box.name, hit->rank) : nullptr;
  if (series == nullptr) {
    return;
  }
  const QString title = counterFacts(hit->box.name).title;
  if (const auto peak = series->peak(0, series->size())) {
    const double ns = model_->toNs(series->points()[*peak].ticks);
    menu.addAction(tr("Go to the peak of %1, rank %2").arg(title).arg(hit->rank), this,
                   [this, ns] { goToTime(ns); });
  }
  menu.addAction(
      tr("Hide %1").arg(title), this,
      [this, name = QString::fromStdString(hit->box.name)] { counterMenu_->toggle(name); });
  menu.addSeparator();
}

}  // namespace lockstep::ui
