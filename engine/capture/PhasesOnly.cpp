#include "engine/capture/PhasesOnly.h"

#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::capture {

using trace::EventKind;

bool isOfStep(const trace::Event& event) {
  return !run::has(static_cast<EventKind>(event.kind), run::kApart);
}

bool isPhase(const trace::Event& event, std::uint64_t lastGradientTicks) {
  const auto kind = static_cast<EventKind>(event.kind);
  if (!run::has(kind, run::kFine)) {
    return true;
  }
  return (kind == EventKind::kGradientReady && event.startTicks == lastGradientTicks) ||
         (kind == EventKind::kCopyIn && event.detail == trace::kWholeBucket);
}

}  // namespace lockstep::capture
