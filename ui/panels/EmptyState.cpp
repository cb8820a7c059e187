#include "ui/panels/EmptyState.h"

#include <QAbstractItemModel>
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

void EmptyState::setSentence(const QString& sentence) { sentence_->setText(sentence); }

ViewOrEmpty::ViewOrEmpty(QWidget* view, const QAbstractItemModel* model, QWidget* empty,
                         QWidget* parent)
    : QWidget(parent), stack_(new QStackedLayout(this)) {
  stack_->addWidget(view);
  stack_->addWidget(empty);
  const auto refresh = [this, model] { update(model); };
  connect(model, &QAbstractItemModel::rowsInserted, this, refresh);
  connect(model, &QAbstractItemModel::rowsRemoved, this, refresh);
  connect(model, &QAbstractItemModel::modelReset, this, refresh);
  connect(model, &QAbstractItemModel::layoutChanged, this, refresh);
  refresh();
}

void ViewOrEmpty::update(const QAbstractItemModel* model) {
  stack_->setCurrentIndex(model->rowCount() > 0 ? 0 : 1);
}

}  // namespace lockstep::ui
