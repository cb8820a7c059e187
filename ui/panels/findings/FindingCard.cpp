#include "ui/panels/findings/FindingCard.h"

#include <QFontDatabase>
#include <QPainter>
#include <QPushButton>

#include "ui/panels/CurrentPalette.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/TermTips.h"
#include "ui/panels/findings/FindingsLine.h"

namespace lockstep::ui {
namespace {

constexpr int kBand = 4;
constexpr int kMarkSide = 10;

void say(QLabel* label, const QString& text) {
  label->setText(text);
  label->setVisible(!text.isEmpty());
}

/// A label that wraps and is as high as its words are at the width that it gets.
QLabel* words(QLabel* label) {
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  label->setSizePolicy(policy);
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  label->setFocusPolicy(Qt::NoFocus);
  return label;
}

}  // namespace

QMargins cardMargins() {
  return {kBand + kMarkSide + 18, 8, 10, 8};
}

void drawCard(QPainter& painter, const QWidget& card, FindingTone tone) {
  const QColor ink = inkOf(tone);
  const QRect all = card.rect();
  QColor wash = ink;
  wash.setAlphaF(0.06F);
  painter.fillRect(all, card.palette().color(QPalette::Base));
  painter.fillRect(all, wash);
  painter.fillRect(QRect(0, 0, kBand, all.height()), ink);
  painter.fillRect(QRect(0, all.height() - 1, all.width(), 1), currentPalette().gridStrong);
  const int line = card.fontMetrics().height();
  drawMark(painter, tone,
           QRectF(kBand + 9, cardMargins().top() + (line - kMarkSide) / 2.0, kMarkSide, kMarkSide));
}

FindingCard::FindingCard(QWidget* parent)
    : QWidget(parent),
      title_(words(named(bold(), "findingTitle"))),
      saving_(named(bold(), "findingSaving")),
      sentence_(words(wrapped({}, "findingSentence"))),
      interval_(named(new QLabel, "findingInterval")),
      remedy_(words(wrapped({}, "findingRemedy"))),
      place_(words(muted({}, "findingPlace"))),
      settings_(words(wrapped({}, "findingSettings"))),
      apply_(named(new QPushButton(tr("Apply and run")), "applyFinding")),
      show_(named(new QPushButton(tr("Show")), "showFinding")) {
  setObjectName("findingCard");
  title_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  setTerm(saving_, QStringLiteral("saving"));
  setTerm(interval_, QStringLiteral("interval"));
  saving_->setAlignment(Qt::AlignRight);
  interval_->setAlignment(Qt::AlignRight);
  interval_->setForegroundRole(QPalette::PlaceholderText);
  settings_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  for (QPushButton* button : {apply_, show_}) {
    button->setAutoDefault(true);
  }
  auto* head = inRow({{title_, 1}, inColumn({saving_, interval_, Part::rest()}, 0)}, 12);
  fill(this, inColumn({head, sentence_, remedy_, settings_,
                       inRow({{place_, 1}, {apply_, 0, Qt::AlignBottom}, {show_, 0, Qt::AlignBottom}})},
                      4),
       cardMargins());
  connect(apply_, &QPushButton::clicked, this, &FindingCard::applyRequested);
  connect(show_, &QPushButton::clicked, this, &FindingCard::showRequested);
}

void FindingCard::setFinding(const diagnosis::Finding& finding, double stepMs) {
  tone_ = toneOf(finding);
  title_->setText(titleOf(finding));
  setTerm(title_, termOf(finding));
  title_->show();
  say(saving_, savingOf(finding));
  say(interval_, intervalOf(finding, stepMs));
  say(sentence_, QString::fromStdString(finding.sentence));
  say(remedy_, QString::fromStdString(finding.remedy));
  QStringList settings;
  for (const diagnosis::Setting& setting : finding.settings) {
    settings << settingOf(setting);
  }
  say(settings_, settings.join(QLatin1Char('\n')));
  say(place_, placeOf(finding.place));
  apply_->setVisible(!settings.isEmpty());
  applyTip_ = tr("Runs a copy of the experiment with %1, and compares it with this run")
                  .arg(settings.join(QStringLiteral(", ")));
  blockApply(blocked_);
  show_->show();
  show_->setToolTip(tr("Shows where it can be seen"));
  setAccessibleName(title_->text());
  update();
}

void FindingCard::setNothing(FindingTone tone, const QString& sentence) {
  tone_ = tone;
  for (QWidget* part : std::initializer_list<QWidget*>{title_, saving_, interval_, remedy_,
                                                       settings_, place_, apply_, show_}) {
    part->hide();
  }
  say(sentence_, sentence);
  setAccessibleName(sentence);
  update();
}

void FindingCard::blockApply(const QString& reason) {
  blocked_ = reason;
  apply_->setEnabled(reason.isEmpty());
  apply_->setToolTip(reason.isEmpty() ? applyTip_ : reason);
}

void FindingCard::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  drawCard(painter, *this, tone_);
}

}  // namespace lockstep::ui
