#pragma once

#include <QString>

#include "engine/glossary/Glossary.h"

namespace lockstep::ui {

// Terms of the glossary (engine/glossary) as the studio shows them. [any-thread]

/// The entry that a heading names: "Exposed ms". Null: it names none.
const glossary::Entry* termOf(const QString& heading);

/// What the term that a heading names means, with its name; empty: it names none.
QString meaningOf(const QString& heading);

/// What is said under the pointer of something with this heading: its own tip, and what its term
/// means; the tip alone where the heading names no term.
QString tipWithTerm(const QString& heading, const QString& tip);

}  // namespace lockstep::ui
