#include "ui/panels/events/StepStarts.h"

namespace lockstep::ui {

double StepStarts::of(const RunModel& model, const Span& span) {
  if (span.rank() != rank_ || span.step != step_) {
    const auto step = model.step(span.rank(), span.step);
    rank_ = span.rank();
    step_ = span.step;
    startNs_ = step ? step->startNs : std::nan("");
  }
  return startNs_;
}

}  // namespace lockstep::ui
