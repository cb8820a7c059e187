#pragma once

#include "engine/analysis/RecordedSteps.h"
#include "engine/base/Result.h"
#include "engine/cost/StepChange.h"

namespace lockstep::analysis {

/// Sets the link of `change`, and how many transfers travel on it at once, to what `link` is and
/// the run's own is not. Error: a clause that ends "this run cannot tell, because ...": nothing
/// says what a byte takes on it. [any-thread]
base::Status changeLink(const RecordedSettings& settings, const experiment::LinkConfig& link,
                        cost::StepChange& change);

}  // namespace lockstep::analysis
