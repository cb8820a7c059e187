#include "ui/panels/EmptyState.h"

#include <QLabel>
#include <QPushButton>
#include <QStackedLayout>

#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/Spacing.h"

namespace lockstep::ui {
namespace {

// A line that is longer is hard to come back from.
constexpr int kLettersOfALine = 64;

/// Words in the middle that wrap early; none while they are empty.
QLabel* inTheMiddle(QLabel* label) {
  label->setAlignment(Qt::AlignCenter);
  label->setMaximumWidth(kLettersOfALine * label->fontMetrics().averageCharWidth());
  // As wide as that where there is room; without this a wrapping label asks for half of it.
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  label->setSizePolicy(policy);
  return label;
}

QLayout* centred(QWidget* widget) {
  return inRow({Part::rest(), {widget, 1000}, Part::rest()}, 0);
}

}  // namespace

EmptyState::EmptyState(const QString& sentence, const QString& button, QWidget* parent)
    : QWidget(parent), heading_(inTheMiddle(bold())), more_(inTheMiddle(muted())) {
  heading_->setWordWrap(true);
  QVBoxLayout* column = inColumn({Part::rest(), centred(heading_), centred(more_)}, kSpace);
  if (!button.isEmpty()) {
    button_ = new QPushButton(button);
    // The one thing to do here: it looks so, and Enter presses it.
    button_->setAutoDefault(false);
    button_->setDefault(true);
    connect(button_, &QPushButton::clicked, this, &EmptyState::activated);
    add(*column, {Part::gap(kHalfSpace), {button_, 0, Qt::AlignHCenter}});
  }
  add(*column, {Part::rest()});
  fill(this, column, {kTwoSpaces, kSpace, kTwoSpaces, kSpace});
  setSentence(sentence);
}

void EmptyState::setSentence(const QString& sentence) {
  // What there is, or is not, and then what will be here and what to do.
  const qsizetype end = sentence.indexOf(QStringLiteral(". "));
  heading_->setText(end < 0 ? sentence : sentence.left(end + 1));
  more_->setText(end < 0 ? QString() : sentence.mid(end + 2));
  more_->setVisible(!more_->text().isEmpty());
}

void EmptyState::setOffered(bool offered) {
  button_->setVisible(offered);
}

ViewOrEmpty::ViewOrEmpty(QWidget* view, QWidget* empty, QWidget* parent)
    : QWidget(parent), stack_(new QStackedLayout(this)) {
  stack_->addWidget(view);
  stack_->addWidget(empty);
  setEmpty(true);
}

void ViewOrEmpty::setEmpty(bool empty) {
  stack_->setCurrentIndex(empty ? 1 : 0);
}

}  // namespace lockstep::ui
