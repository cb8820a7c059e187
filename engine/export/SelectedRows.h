#pragma once

#include <cstddef>
#include <functional>

#include "engine/export/Survey.h"

namespace lockstep::exports {

/// Calls `take` with the selected rows of a surveyed run, block by block, in the order of the file.
/// `take` may change what it gets; of a live run it gets what the survey has seen. `progress` goes
/// from kSurveyPart to 1. `blockSpans` limits spans alone: the first block holds every number, line
/// of output, fingerprint and gradient of the run, which are few beside its spans.
base::Status eachBlock(const Survey& survey, const Progress& progress,
                       const std::function<base::Status(trace::RunUpdate&)>& take,
                       std::size_t blockSpans = kBlockSpans);

/// The same with all spans that the survey has seen, selected or not, and nothing else.
base::Status eachSpan(const Survey& survey, const Progress& progress,
                      const std::function<void(const trace::SpanRow&)>& take);

}  // namespace lockstep::exports
