#include "ui/shell/IterationBox.h"

#include <QAction>
#include <QHBoxLayout>
#include <QIntValidator>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>
#include <limits>

namespace lockstep::ui {

IterationBox::IterationBox(QAction* previous, QAction* next, QWidget* parent)
    : QWidget(parent), number_(new QLineEdit), total_(new QLabel) {
  const auto button = [](QAction* action) {
    auto* tool = new QToolButton;
    tool->setDefaultAction(action);
    tool->setToolButtonStyle(Qt::ToolButtonIconOnly);
    tool->setAutoRaise(true);
    return tool;
  };
  number_->setObjectName("iterationNumber");
  number_->setAccessibleName(tr("Iteration"));
  number_->setToolTip(tr("Iteration in the middle of the timeline; type another and press Enter"));
  number_->setAlignment(Qt::AlignRight);
  number_->setValidator(new QIntValidator(0, std::numeric_limits<int>::max(), number_));
  number_->setFixedWidth(fontMetrics().horizontalAdvance(QStringLiteral("0000000")) + 10);
  total_->setObjectName("iterationTotal");
  total_->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("/ 00000")));
  setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Preferred);  // a toolbar would stretch it
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(4, 0, 4, 0);
  row->setSpacing(4);
  row->addWidget(button(previous));
  row->addWidget(new QLabel(tr("it")));
  row->addWidget(number_);
  row->addWidget(total_);
  row->addWidget(button(next));
  connect(number_, &QLineEdit::returnPressed, this, [this] {
    emit jumpRequested(number_->text().toUInt());
    number_->clearFocus();
  });
  setIteration(std::nullopt, 0);
}

void IterationBox::setIteration(std::optional<std::uint32_t> iteration, std::uint32_t count) {
  number_->setEnabled(count > 0);
  // A live run goes on while somebody types a number.
  if (!number_->hasFocus()) {
    number_->setText(iteration ? QString::number(*iteration) : QString());
  }
  total_->setText(count > 0 ? tr("/ %1").arg(count) : tr("/ –"));
}

}  // namespace lockstep::ui
