#pragma once

#include <cstdint>

#include "engine/trace/EventRecord.h"

namespace lockstep::capture {

/// Whether an event belongs to a step: what does not, such as start-up, evaluation and gaps, is
/// rare and always kept.
bool isOfStep(const trace::Event& event);

/// Whether an event is one of those that a step with trace::KeptDetail::kPhases keeps: its phases,
/// the life of its buckets but for single gradients, what its hook did, and its collectives. Of the
/// gradients only the last is kept, which ends the computing of a backward.
bool isPhase(const trace::Event& event, std::uint64_t lastGradientTicks);

}  // namespace lockstep::capture
