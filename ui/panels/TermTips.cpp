#include "ui/panels/TermTips.h"

#include <QVariant>
#include <QWidget>

#include "engine/base/Check.h"
#include "ui/model/Terms.h"

namespace lockstep::ui {
namespace {

constexpr const char* kTerm = "glossaryTerm";

}  // namespace

void setTerm(QWidget* widget, const QString& term, const QString& tip) {
  LOCKSTEP_CHECK(termOf(term) != nullptr, "the glossary has no \"{}\"", term.toStdString());
  widget->setProperty(kTerm, term);
  widget->setToolTip(tipWithTerm(term, tip));
}

void clearTerm(QWidget* widget) {
  widget->setProperty(kTerm, QVariant());
  widget->setToolTip({});
}

QString shownTerm(const QWidget* widget) {
  return widget->property(kTerm).toString();
}

}  // namespace lockstep::ui
