#include "ui/shell/Stages.h"

#include <QStackedWidget>
#include <QTabBar>

#include "ui/panels/Layouts.h"

namespace lockstep::ui {
namespace {

constexpr int kLeastWidth = 240;
constexpr int kLeastHeight = 120;

}  // namespace

Stages::Stages(QWidget* parent)
    : QWidget(parent),
      tabs_(new QTabBar),
      row_(inRow({tabs_}, 0)),
      stack_(new QStackedWidget),
      column_(inColumn({row_, {stack_, 1}}, 0)) {
  // Docks beside it take their room from it, and never make the window larger, whatever the widest
  // of all views would like.
  setMinimumSize(kLeastWidth, kLeastHeight);
  setObjectName("stages");
  tabs_->setObjectName("stageTabs");
  tabs_->setAccessibleName(tr("Views of the run"));
  tabs_->setDocumentMode(true);
  tabs_->setExpanding(false);
  tabs_->setDrawBase(false);
  tabs_->setFocusPolicy(Qt::TabFocus);
  fill(this, column_);
  connect(tabs_, &QTabBar::currentChanged, this, [this](int index) {
    if (index >= 0) {
      stack_->setCurrentIndex(index);
    }
  });
}

void Stages::add(const QString& name, const QString& title, const QString& tip, RunView* view) {
  stages_.append({name, title, view});
  QWidget* area = scrolled(view);
  area->setFocusPolicy(Qt::NoFocus);
  stack_->addWidget(area);
  const int tab = tabs_->addTab(title);
  tabs_->setTabToolTip(tab, tip);
}

void Stages::setCorner(QWidget* corner, QWidget* end) {
  row_->addWidget(corner, 1);
  row_->addStretch();  // where the corner is hidden
  row_->addWidget(end);
}

void Stages::setFront(QWidget* front) {
  column_->insertWidget(1, front);
}

void Stages::setRun(const OpenRun& run) {
  for (const Stage& stage : stages_) {
    stage.view->setRun(run);
  }
}

void Stages::setTheme(Theme theme) {
  for (const Stage& stage : stages_) {
    stage.view->setTheme(theme);
  }
}

QStringList Stages::names() const {
  QStringList names;
  for (const Stage& stage : stages_) {
    names.append(stage.name);
  }
  return names;
}

QString Stages::titleOf(const QString& name) const {
  const auto at = names().indexOf(name);
  return at < 0 ? QString() : stages_[at].title;
}

QString Stages::tipOf(const QString& name) const {
  return tabs_->tabToolTip(static_cast<int>(names().indexOf(name)));
}

RunView* Stages::view(const QString& name) const {
  const auto at = names().indexOf(name);
  return at < 0 ? nullptr : stages_[at].view;
}

QString Stages::current() const {
  return tabs_->currentIndex() < 0 ? QString() : stages_[tabs_->currentIndex()].name;
}

RunView* Stages::currentView() const {
  return tabs_->currentIndex() < 0 ? nullptr : stages_[tabs_->currentIndex()].view;
}

void Stages::setCurrent(const QString& name) {
  const auto at = names().indexOf(name);
  if (at >= 0) {
    tabs_->setCurrentIndex(static_cast<int>(at));
    stages_[at].view->setFocus(Qt::OtherFocusReason);
  }
}

}  // namespace lockstep::ui
