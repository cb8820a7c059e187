#pragma once

#include <QString>

class QWidget;

namespace lockstep::ui {

/// Says of a widget which term it shows: under the pointer it has the tip and what the term means,
/// and help asked for there opens the glossary at the term (ui/help). The glossary has the term.
/// [ui-thread]
void setTerm(QWidget* widget, const QString& term, const QString& tip = {});

/// Takes term and tip back.
void clearTerm(QWidget* widget);

/// The term that was set; empty: none.
QString shownTerm(const QWidget* widget);

}  // namespace lockstep::ui
