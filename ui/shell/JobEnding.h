#pragma once

#include <QString>
#include <QStringList>

namespace lockstep::ui {

/// Why a job that was to be recorded left no run file: a sentence without its full stop. `output`:
/// the lines of `lockstep record`, which end with what it says itself; `stopped`: the user asked
/// for its end.
QString whyNothingWasRecorded(const QStringList& output, int exitCode, bool stopped);

}  // namespace lockstep::ui
