#include <QAction>
#include <QKeySequence>

#include "ui/views/timeline/TimelineView.h"

// The keys of the timeline. They are actions, so that menus, tooltips and the key sheet show
// them and users can change them; they work while the timeline has the focus.
namespace lockstep::ui {
namespace {

constexpr double kZoomStep = 0.7;
constexpr double kPanStep = 0.15;  // of the visible length

}  // namespace

void TimelineView::makeAction(const QString& text, const QList<QKeySequence>& keys,
                             const std::function<void()>& act) {
  auto* action = new QAction(text, this);
  action->setShortcuts(keys);
  action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  connect(action, &QAction::triggered, this, [this, act] {
    if (controller_.ready() && model_->spanCount() > 0) {
      act();
      changedByUser();
    }
  });
  addAction(action);
  actions_.push_back(action);
}

void TimelineView::makeActions() {
  makeAction(tr("Zoom in"), {Qt::Key_W, Qt::Key_Plus}, [this] { controller_.zoom(kZoomStep); });
  makeAction(tr("Zoom out"), {Qt::Key_S, Qt::Key_Minus},
            [this] { controller_.zoom(1 / kZoomStep); });
  makeAction(tr("Move left"), {Qt::Key_A, Qt::Key_Left}, [this] { controller_.pan(-kPanStep); });
  makeAction(tr("Move right"), {Qt::Key_D, Qt::Key_Right}, [this] { controller_.pan(kPanStep); });
  makeAction(tr("Scroll up"), {Qt::Key_Up},
            [this] { controller_.setScroll(controller_.scrollY() - 40); });
  makeAction(tr("Scroll down"), {Qt::Key_Down},
            [this] { controller_.setScroll(controller_.scrollY() + 40); });
  makeAction(tr("Focus the selection, then all"), {Qt::Key_F}, [this] { controller_.focus(); });
  makeAction(tr("Previous iteration"), {Qt::Key_PageUp}, [this] { controller_.moveIteration(-1); });
  makeAction(tr("Next iteration"), {Qt::Key_PageDown}, [this] { controller_.moveIteration(1); });
  makeAction(tr("Start of the run"), {Qt::Key_Home}, [this] { controller_.showStart(); });
  makeAction(tr("End of the run"), {Qt::Key_End}, [this] { controller_.showEnd(); });
  makeAction(tr("Previous in the lane"), {Qt::Key_Comma},
            [this] { controller_.selectNeighbour(-1, false); });
  makeAction(tr("Next in the lane"), {Qt::Key_Period},
            [this] { controller_.selectNeighbour(1, false); });
  makeAction(tr("Previous of the same name"), {Qt::Key_BracketLeft},
            [this] { controller_.selectNeighbour(-1, true); });
  makeAction(tr("Next of the same name"), {Qt::Key_BracketRight},
            [this] { controller_.selectNeighbour(1, true); });
  makeAction(tr("Follow the live run"), {Qt::Key_L},
            [this] { state_->setFollowLive(!state_->followsLive()); });
  makeAction(tr("Clear the measure or the selection"), {Qt::Key_Escape},
            [this] { controller_.clear(); });
}

}  // namespace lockstep::ui
