#include "ui/panels/EmptyState.h"

#include <QLabel>
#include <QPushButton>
#include <QStackedLayout>
#include <QVBoxLayout>

namespace lockstep::ui {

EmptyState::EmptyState(const QString& sentence, const QString& button, QWidget* parent)
    : QWidget(parent), sentence_(new QLabel(sentence)) {
  sentence_->setWordWrap(true);
  sentence_->setAlignment(Qt::AlignCenter);
  sentence_->setForegroundRole(QPalette::PlaceholderText);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(16, 12, 16, 12);
  layout->setSpacing(10);
  layout->addStretch(1);
  layout->addWidget(sentence_);
  if (!button.isEmpty()) {
    auto* push = new QPushButton(button);
    push->setAutoDefault(true);
    connect(push, &QPushButton::clicked, this, &EmptyState::activated);
    layout->addWidget(push, 0, Qt::AlignHCenter);
  }
  layout->addStretch(1);
}

void EmptyState::setSentence(const QString& sentence) {
  sentence_->setText(sentence);
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
