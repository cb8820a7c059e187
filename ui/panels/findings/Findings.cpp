#include "ui/panels/findings/Findings.h"

#include <QToolButton>

#include "ui/model/RunTitle.h"
#include "ui/panels/Labels.h"
#include "ui/panels/findings/FindingsLine.h"
#include "ui/panels/findings/FindingsList.h"
#include "ui/panels/findings/VerdictCard.h"

namespace lockstep::ui {
namespace {

/// How often a growing run's number of iterations is told anew. Setting the card's words takes
/// milliseconds, most of it to shape text, and a run grows thirty times a second.
constexpr int kCountEveryMs = 500;

}  // namespace

Findings::Findings(QWidget* window)
    : QObject(window),
      line_(new FindingsLine),
      card_(new VerdictCard),
      fold_(named(new QToolButton, "foldVerdict")),
      list_(new FindingsList(window)) {
  soon_.setSingleShot(true);
  connect(&soon_, &QTimer::timeout, this, &Findings::tell);
  fold_->setAutoRaise(true);
  fold_->setFocusPolicy(Qt::TabFocus);
  connect(fold_, &QToolButton::clicked, this, [this] { setFolded(!folded_); });
  connect(line_, &FindingsLine::clicked, this, &Findings::toggle);
  connect(line_, &FindingsLine::painted, this, &Findings::want);
  connect(card_, &VerdictCard::painted, this, &Findings::want);
  connect(card_, &VerdictCard::activated, this, &Findings::follow);
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
  subject_.clear();
  if (diagnoser_ != nullptr) {
    connect(model_, &RunModel::changed, this, [this] {
      want();
      if (!soon_.isActive()) {
        soon_.start(kCountEveryMs);
      }
    });
    connect(model_, &RunModel::loaded, this, &Findings::want);
    // What a run is, it says once; its experiment is not read again with each event.
    connect(model_, &RunModel::infoChanged, this, [this] {
      subject_ = QString::fromStdString(diagnosis::subjectOf(model_->info(), model_->ranks()));
      tell();
    });
    connect(diagnoser_, &RunDiagnoser::ready, this, &Findings::take);
  }
  take();
  showParts();
}

void Findings::blockApply(const QString& reason) {
  list_->blockApply(reason);
}

void Findings::toggle() {
  if (list_->isVisible()) {
    list_->close();
  } else if (line_->isVisible() || card_->isVisible()) {
    list_->openBelow(place());
  }
}

void Findings::setFolded(bool folded) {
  if (folded != folded_) {
    folded_ = folded;
    list_->close();
    tell();
    showParts();
    emit foldedChanged(folded);
  }
}

void Findings::showParts() {
  const bool open = diagnoser_ != nullptr;
  line_->setVisible(open && folded_);
  card_->setVisible(open && !folded_);
  fold_->setVisible(open);
  fold_->setArrowType(folded_ ? Qt::DownArrow : Qt::UpArrow);
  const QString does =
      folded_ ? tr("Unfold the verdict on this run") : tr("Fold the verdict on this run to a line");
  fold_->setToolTip(does);
  fold_->setAccessibleName(does);
}

QRect Findings::place() const {
  if (!folded_) {
    return {card_->mapToGlobal(QPoint(0, 0)), card_->size()};
  }
  const QRect pill = line_->pill();
  return {line_->mapToGlobal(pill.topLeft()), pill.size()};
}

void Findings::want() {
  if (diagnoser_ != nullptr && (line_->isVisible() || card_->isVisible())) {
    diagnoser_->want();
  }
}

void Findings::follow(const QString& link) {
  const auto found = diagnoser_ != nullptr ? diagnoser_->latest() : nullptr;
  if (link == kProblemsLink) {
    emit problemsRequested();
  } else if (found == nullptr || link == kListLink) {
    toggle();
  } else if (link.startsWith(kFindingLink)) {
    if (const auto at = link.mid(kFindingLink.size()).toUInt(); at < found->findings.size()) {
      const diagnosis::Finding finding = found->findings[at];  // the list may change meanwhile
      emit showRequested(finding);
    }
  } else if (const auto at = link.toUInt(); at < found->verdict.size()) {
    const diagnosis::Remark remark = found->verdict[at];
    emit remarkRequested(remark);
  }
}

void Findings::tell() {
  soon_.stop();
  if (model_ == nullptr || diagnoser_ == nullptr) {
    line_->setHeadline(headlineOf(nullptr));
    return;
  }
  line_->setHeadline(headlineOf(model_->info(), diagnoser_->latest().get()));
  if (!folded_) {
    card_->setWords(verdictWords(model_->info(), titleOfRun(*model_), subject_,
                                 model_->stepCount(0), diagnoser_->latest().get()));
  }
}

void Findings::take() {
  const auto found = diagnoser_ != nullptr ? diagnoser_->latest() : nullptr;
  list_->setDiagnosis(found);
  tell();
  if (list_->isVisible()) {
    list_->moveBelow(place());
  }
}

}  // namespace lockstep::ui
