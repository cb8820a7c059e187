#pragma once

#include <cstdint>

#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Where iterations began on the rank of a span; remembers the last answer, for spans that are
/// asked for one after the other are mostly of one iteration. [ui-thread]
class StepStarts {
 public:
  /// Returns when the iteration began whose number the span carries, even if the span ended before
  /// that; NaN when the run does not hold it (yet).
  double of(const RunModel& model, const Span& span);

 private:
  int rank_ = -1;
  std::uint32_t step_ = 0;
  double startNs_ = 0;
};

}  // namespace lockstep::ui
