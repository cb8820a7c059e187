#pragma once

#include <cstdint>
#include <optional>

#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"

namespace lockstep::ui {

/// Returns the span of a rank's step, or nothing when the model does not hold it.
std::optional<Span> stepSpan(const RunModel& model, int rank, std::uint32_t step);

/// Returns the span of the model that a row of the run file is; nothing while the model does not
/// hold it.
std::optional<Span> spanOf(const RunModel& model, int rank, const trace::SpanRow& row);

/// Returns the collective of a rank that goes on at `ns`, its check or link included; nothing when
/// there is none.
std::optional<Span> collectiveAt(const RunModel& model, int rank, double ns);

/// Shows one iteration of all ranks in the view state's range and selects the collective that goes
/// on at `ns`, or, without a time or a collective, the rank's step.
void showIteration(const RunModel& model, ViewState& state, int rank, std::uint32_t step,
                   std::optional<double> ns);

}  // namespace lockstep::ui
