#include "ui/panels/findings/Findings.h"

#include "ui/panels/findings/FindingsLine.h"
#include "ui/panels/findings/FindingsList.h"

namespace lockstep::ui {

Findings::Findings(QWidget* window)
    : QObject(window), line_(new FindingsLine), list_(new FindingsList(window)) {
  connect(line_, &FindingsLine::clicked, this, &Findings::toggle);
  connect(line_, &FindingsLine::painted, this, &Findings::want);
  connect(list_, &FindingsList::showRequested, this, &Findings::showRequested);
  connect(list_, &FindingsList::applyRequested, this, &Findings::applyRequested);
  setRun(nullptr, nullptr);
}

void Findings::setRun(RunModel* model, RunDiagnoser* diagnoser) {
  for (QObject* old : {static_cast<QObject*>(model_), static_cast<QObject*>(diagnoser_)}) {
    if (old != nullptr) {
      old->disconnect(this);
    }
  }
  model_ = model;
  diagnoser_ = diagnoser;
  list_->close();
  line_->setVisible(diagnoser_ != nullptr);
  if (diagnoser_ != nullptr) {
    connect(model_, &RunModel::changed, this, &Findings::want);
    connect(model_, &RunModel::loaded, this, &Findings::want);
    connect(diagnoser_, &RunDiagnoser::ready, this, &Findings::take);
  }
  take();
}

void Findings::blockApply(const QString& reason) {
  list_->blockApply(reason);
}

void Findings::toggle() {
  if (list_->isVisible()) {
    list_->close();
  } else if (line_->isVisible()) {
    list_->openBelow(place());
  }
}

QRect Findings::place() const {
  const QRect pill = line_->pill();
  return {line_->mapToGlobal(pill.topLeft()), pill.size()};
}

void Findings::want() {
  if (diagnoser_ != nullptr && line_->isVisible()) {
    diagnoser_->want();
  }
}

void Findings::take() {
  const auto found = diagnoser_ != nullptr ? diagnoser_->latest() : nullptr;
  line_->setHeadline(headlineOf(found.get()));
  list_->setDiagnosis(found);
  if (list_->isVisible()) {
    list_->moveBelow(place());
  }
}

}  // namespace lockstep::ui
