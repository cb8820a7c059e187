#pragma once

#include <QString>
#include <optional>

#include "engine/diagnosis/Verdict.h"
#include "ui/model/Span.h"

namespace lockstep::ui {

class RunModel;

/// Return the view in which a finding or a remark is seen best, as Stages knows it.
QString viewOf(const diagnosis::Finding& finding);
QString viewOf(const diagnosis::Remark& remark);

/// Returns the span that a place means: the gradient of its parameter, the collective of its bucket
/// or of its moment, its phase, or the step of its rank. None: it names no step, or the run does not
/// hold the span.
std::optional<Span> spanAt(const RunModel& model, const diagnosis::Place& place);

}  // namespace lockstep::ui
