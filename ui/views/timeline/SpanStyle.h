#pragma once

#include <QColor>
#include <QStringList>

#include "ui/canvas/Palette.h"
#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"

namespace lockstep::ui {

/// Returns the class of time that a span is.
Tone toneOf(const Span& span);

/// Returns the colour a span is filled with. What the colouring is not about turns neutral.
QColor colourOf(const Span& span, ColourBy by, const Palette& palette);

/// Returns the colour of a collective of all ranks: its bucket's, unless waiting is what counts.
QColor colourOf(const Meeting& meeting, ColourBy by, const Palette& palette);

/// Whether a rank of its group has no record of a collective.
bool isTorn(const RunModel& model, const Meeting& meeting);

/// Returns what may stand inside a span's bar, the longest form first: "allreduce b3", "b3".
QStringList labelsOf(const RunModel& model, const Span& span);

/// True for what happens at one moment and is drawn as a mark, not as a bar.
bool isInstant(const Span& span);

}  // namespace lockstep::ui
