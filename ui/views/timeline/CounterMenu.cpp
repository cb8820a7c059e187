#include "ui/views/timeline/CounterMenu.h"

#include <utility>
#include <vector>

#include "ui/model/CounterFacts.h"

namespace lockstep::ui {

CounterMenu::CounterMenu(QWidget* parent) : QMenu(tr("Counters"), parent) {
  setObjectName(QStringLiteral("counterMenu"));
  setToolTipsVisible(true);
  menuAction()->setToolTip(
      tr("Choose what is plotted under each rank: memory, processor, traffic, "
         "loss, what hooks count"));
  connect(this, &QMenu::aboutToShow, this, &CounterMenu::fill);
}

void CounterMenu::setCommands(QAction* all, QAction* table) {
  all_ = all;
  table_ = table;
  fill();  // a menu without entries would not open
}

void CounterMenu::fill() {
  // The two commands belong to the view; clear() deletes what the menu made.
  clear();
  addAction(all_);
  std::vector<std::string> names;
  if (model_ != nullptr && state_ != nullptr) {
    for (const std::string& name : model_->counters().names()) {
      if (isPlotted(name)) {
        names.push_back(name);
      }
    }
  }
  if (names.empty()) {
    addSection(tr("This run holds no counters"));
  }
  CounterGroup group{};
  bool first = true;
  for (const std::string& name : inListedOrder(std::move(names))) {
    const CounterFacts facts = counterFacts(name);
    if (first || facts.group != group) {
      addSection(titleOf(facts.group));
      group = facts.group;
      first = false;
    }
    const QString key = QString::fromStdString(name);
    QAction* action = addAction(facts.title);
    action->setObjectName(key);
    action->setCheckable(true);
    action->setChecked(state_->counters().contains(key));
    action->setToolTip(facts.meaning);
    connect(action, &QAction::triggered, this, [this, key] { toggle(key); });
  }
  addSeparator();
  addAction(table_);
}

void CounterMenu::toggle(const QString& name) {
  if (state_ == nullptr) {
    return;
  }
  std::vector<std::string> names;
  for (const QString& shown : state_->counters()) {
    if (shown != name) {
      names.push_back(shown.toStdString());
    }
  }
  if (!state_->counters().contains(name)) {
    names.push_back(name.toStdString());
  }
  QStringList next;
  for (const std::string& shown : inListedOrder(std::move(names))) {
    next << QString::fromStdString(shown);
  }
  state_->setCounters(next);
}

void CounterMenu::toggleAll() {
  if (state_ == nullptr) {
    return;
  }
  if (state_->counters().isEmpty()) {
    state_->setCounters(before_.isEmpty() ? ViewState::usualCounters() : before_);
  } else {
    // So that the same key brings them back.
    before_ = state_->counters();
    state_->setCounters({});
  }
}

}  // namespace lockstep::ui
