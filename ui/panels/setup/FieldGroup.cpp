#include "ui/panels/setup/FieldGroup.h"

#include <QLabel>
#include <QToolButton>

#include "ui/panels/CurrentPalette.h"
#include "ui/panels/Layouts.h"

namespace lockstep::ui {

void discard(QWidget* widget) {
  widget->hide();
  widget->deleteLater();
}

FieldGroup::FieldGroup(const QString& title, QWidget* parent)
    : QWidget(parent),
      title_(title),
      header_(new QToolButton),
      summary_(new QLabel),
      body_(new QWidget),
      rows_(new QVBoxLayout(body_)) {
  setObjectName("group:" + title);
  header_->setText(title);
  header_->setCheckable(true);
  header_->setAutoRaise(true);
  header_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  QFont bold = header_->font();
  bold.setBold(true);
  header_->setFont(bold);
  header_->setAccessibleName(tr("%1: show its keys").arg(title));
  summary_->setForegroundRole(QPalette::PlaceholderText);
  summary_->setMinimumWidth(0);
  rows_->setContentsMargins(18, 0, 2, 6);
  rows_->setSpacing(0);
  fill(this, inColumn({inRow({header_, {summary_, 1}}, 8), body_}, 0));
  connect(header_, &QToolButton::toggled, this, &FieldGroup::apply);
  apply();
}

void FieldGroup::add(QWidget* widget) {
  rows_->addWidget(widget);
}

void FieldGroup::setSummary(const QString& text, bool wrong) {
  summary_->setText(text);
  // The label writes in the colour of placeholders: a mistake takes the place of that colour, and
  // the next right value brings it back from the group's own palette.
  QPalette colours = summary_->palette();
  colours.setColor(QPalette::PlaceholderText,
                   wrong ? currentPalette().error : palette().color(QPalette::PlaceholderText));
  summary_->setPalette(colours);
}

QString FieldGroup::summary() const {
  return summary_->text();
}

void FieldGroup::setOpen(bool open) {
  header_->setChecked(open);
}

bool FieldGroup::isOpen() const {
  return !body_->isHidden();
}

void FieldGroup::setForcedOpen(bool forced) {
  forced_ = forced;
  apply();
}

void FieldGroup::apply() {
  // The user's choice is the button's, which a search leaves alone: afterwards the group is as it
  // was.
  const bool open = forced_ || header_->isChecked();
  body_->setVisible(open);
  header_->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
}

}  // namespace lockstep::ui
