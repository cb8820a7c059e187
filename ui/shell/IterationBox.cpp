#include "ui/shell/IterationBox.h"

#include <QAction>
#include <QIntValidator>
#include <limits>

#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"

namespace lockstep::ui {

IterationBox::IterationBox(QAction* previous, QAction* next, QWidget* parent)
    : QWidget(parent),
      number_(named(new QLineEdit, "iterationNumber", tr("Iteration"),
                    tr("Iteration in the middle of the timeline; type another and press Enter"))),
      total_(named(new QLabel, "iterationTotal")) {
  const auto button = [](QAction* action) {
    auto* tool = new QToolButton;
    tool->setDefaultAction(action);
    tool->setToolButtonStyle(Qt::ToolButtonIconOnly);
    tool->setAutoRaise(true);
    return tool;
  };
  number_->setAlignment(Qt::AlignRight);
  number_->setValidator(new QIntValidator(0, std::numeric_limits<int>::max(), number_));
  number_->setFixedWidth(fontMetrics().horizontalAdvance(QStringLiteral("0000000")) + 10);
  total_->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("/ 00000")));
  setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Preferred);  // a toolbar would stretch it
  fill(this, inRow({button(previous), new QLabel(tr("it")), number_, total_, button(next)}, 4),
       {4, 0, 4, 0});
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
