#include <QAction>
#include <QKeySequence>
#include <QMenu>
#include <QShortcutEvent>
#include <optional>
#include <utility>

#include "ui/model/Format.h"
#include "ui/panels/KeyTips.h"
#include "ui/views/timeline/CounterMenu.h"
#include "ui/views/timeline/CounterPanel.h"
#include "ui/views/timeline/FindLine.h"
#include "ui/views/timeline/TimelineBar.h"
#include "ui/views/timeline/TimelineView.h"

// The keys of the timeline. They are actions, so that menus, tooltips and the key sheet show
// them and users can change them; they work while the timeline has the focus.
namespace lockstep::ui {
namespace {

// One action for the ten digits: it acts by the digit that was pressed. From a menu, the palette
// or another key it is triggered like any action, and it is for the view to ask which digit.
class DigitAction : public QAction {
 public:
  DigitAction(const QString& text, QObject* parent, std::function<void(int)> act)
      : QAction(text, parent), act_(std::move(act)) {}

 protected:
  bool event(QEvent* event) override {
    if (event->type() == QEvent::Shortcut && isEnabled()) {
      const auto key = static_cast<QShortcutEvent*>(event)->key()[0].key();
      if (key >= Qt::Key_0 && key <= Qt::Key_9) {
        act_(key - Qt::Key_0);
        return true;
      }
    }
    return QAction::event(event);
  }

 private:
  std::function<void(int)> act_;
};

}  // namespace

void TimelineView::makeActions() {
  makeZoomActions([this](double factor) { controller_.zoom(factor); },
                  [this](double part) { controller_.pan(part); }, true);
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
  makeAction(tr("Follow the live run"), {Qt::Key_L}, [this] {
    const bool follow = frozen_ || !state_->followsLive();
    setFrozen(false);
    state_->setFollowLive(follow);
  });
}

void TimelineView::makeMoreActions() {
  QAction* clear = makeAction(tr("Close the search, clear measure, filter, selection"),
                              {Qt::Key_Escape}, [this] { escape(); });
  makeAction(tr("View before"), {Qt::ALT | Qt::Key_Left}, [this] { state_->goBack(); });
  makeAction(tr("View after"), {Qt::ALT | Qt::Key_Right}, [this] { state_->goForward(); });
  makeAction(tr("Higher rows (Alt + wheel)"), {Qt::SHIFT | Qt::Key_Up},
             [this] { controller_.scaleRows(1); });
  makeAction(tr("Collapse all ranks"), {Qt::Key_X}, [this] { controller_.collapseAll(true); });
  makeAction(tr("Expand all ranks"), {Qt::SHIFT | Qt::Key_X},
             [this] { controller_.collapseAll(false); });
  makeAction(tr("Lower rows"), {Qt::SHIFT | Qt::Key_Down}, [this] { controller_.scaleRows(-1); });
  QAction* freeze =
      makeAction(tr("Stand still, or go on"), {Qt::Key_Space}, [this] { setFrozen(!frozen_); });
  ribbons_ = makeAction(tr("Ribbons of all collectives"), {Qt::Key_G}, [] {});
  ribbons_->setCheckable(true);
  connect(ribbons_, &QAction::toggled, this, [this](bool shown) {
    controller_.setRibbons(shown);
    repaintSoon();
  });
  ribbons_->setIconText(tr("Ribbons"));
  setTip(ribbons_, tr("Join each collective in sight across the ranks; ▲ marks the late rank"));
  QAction* colour =
      makeAction(tr("Colour by something else"), {Qt::Key_C}, [this] { nextColouring(); });
  QAction* search = makeAction(tr("Find"), {Qt::Key_Slash}, [this] { find(); });
  setTip(search, tr("Find spans"));
  QAction* next = makeAction(tr("Next match"), {Qt::Key_F3}, [this] { goToMatch(1); });
  QAction* previous =
      makeAction(tr("Previous match"), {Qt::SHIFT | Qt::Key_F3}, [this] { goToMatch(-1); });
  makeAction(tr("Add a bookmark, or remove it"), {Qt::Key_B}, [this] { notes_->toggleBookmark(); });
  makeAction(tr("Next bookmark"), {Qt::CTRL | Qt::Key_Right}, [this] { notes_->goToBookmark(1); });
  makeAction(tr("Previous bookmark"), {Qt::CTRL | Qt::Key_Left},
             [this] { notes_->goToBookmark(-1); });
  makeAction(tr("Note on the selection or the middle"), {Qt::Key_N},
             [this] { notes_->editHere(); });

  // Ten keys each, one action: Ctrl and a digit belong to the stages of the window.
  const auto digits = [this](const QString& text, Qt::KeyboardModifiers modifiers, bool storedOnly,
                             const std::function<void(int)>& act) {
    const auto actOn = [this, act](int digit) {
      if (takesKeys()) {
        act(digit);
        acted();
      }
    };
    auto* action = new DigitAction(text, this, actOn);
    connect(action, &QAction::triggered, this,
            [this, storedOnly, actOn] { chooseDigit(storedOnly, actOn); });
    QList<QKeySequence> keys;
    for (int digit = 0; digit < Annotations::kViews; ++digit) {
      keys << QKeySequence(QKeyCombination(modifiers, static_cast<Qt::Key>(Qt::Key_0 + digit)));
    }
    addKeyed(action, keys);
  };
  digits(tr("Go to a stored view"), Qt::NoModifier, true, [this](int digit) { goToView(digit); });
  digits(tr("Store the view"), Qt::AltModifier, false,
         [this](int digit) { annotations().storeView(digit, state_->range()); });

  bar_->setCommands({colour, clear, freeze});
  findLine_->setCommands(previous, next, clear);
  bar_->addButton(search);
  bar_->addButton(ribbons_);
}

// Where there are so many ranks that they are lines.
void TimelineView::makeRankActions() {
  makeAction(tr("Next rank that is unlike the rest"), {Qt::Key_U},
             [this] { controller_.showUnlike(1); });
  makeAction(tr("Previous rank that is unlike the rest"), {Qt::SHIFT | Qt::Key_U},
             [this] { controller_.showUnlike(-1); });
  makeAction(tr("Pin the rank of the selection, or let go of it"), {Qt::Key_P}, [this] {
    if (controller_.ofMany() && state_->selection()) {
      controller_.togglePin(state_->selection()->rank());
    }
  });
  makeAction(tr("List all ranks, or fold them to lines"), {Qt::SHIFT | Qt::Key_P}, [this] {
    if (controller_.ofMany()) {
      controller_.setListed(!controller_.many().listed());
    }
  });
}

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

void TimelineView::nextColouring() {
  const int next =
      (static_cast<int>(state_->colourBy()) + 1) % (static_cast<int>(ColourBy::kWait) + 1);
  state_->setColourBy(static_cast<ColourBy>(next));
}

void TimelineView::goToView(int digit) {
  if (const auto& range = annotations().view(digit)) {
    state_->setRange(*range);
  }
}

// Asks which of the ten stored views is meant: a menu of what they hold, with the digits as keys.
void TimelineView::chooseDigit(bool storedOnly, const std::function<void(int)>& act) {
  if (!takesKeys()) {
    return;
  }
  auto* menu = new QMenu(this);
  menu->setObjectName(QStringLiteral("storedViews"));
  menu->setAttribute(Qt::WA_DeleteOnClose);
  for (int digit = 0; digit < Annotations::kViews; ++digit) {
    const std::optional<TimeRange>& range = annotations().view(digit);
    const QString what = range ? tr("%1 from %2")
                                     .arg(formatDuration(range->lengthNs()),
                                          formatTime(range->startNs, range->lengthNs() / 100))
                               : tr("nothing stored");
    QAction* choice = menu->addAction(QStringLiteral("&%1   %2").arg(digit).arg(what));
    choice->setEnabled(range || !storedOnly);
    connect(choice, &QAction::triggered, this, [act, digit] { act(digit); });
  }
  const QSize half = menu->sizeHint() / 2;
  menu->popup(canvas_->mapToGlobal(canvas_->rect().center()) - QPoint(half.width(), half.height()));
}

}  // namespace lockstep::ui
