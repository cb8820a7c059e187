#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/cost/Cores.h"
#include "engine/cost/StepChange.h"

namespace lockstep::cost {

/// What a run recorded.
struct RecordedRun {
  std::vector<StepRecord> steps;  ///< of the same ranks and buckets
  std::optional<KnownTransfer> known;
  std::size_t inFlight = 1;            ///< Line::inFlight
  std::vector<TransferSample> probes;  ///< Note [The probe of a run]
  std::size_t backendInFlight = 1;     ///< of the backend under a modelled link
  bool shaped = false;                 ///< its link is modelled, whether its cost is known or not
  /// The part of each bucket that its hook's one allreduce carries; none: there is no such part.
  std::optional<double> share = 1;
  /// What its own hook works, whose share is the one above; none: that is not known.
  std::optional<HookWork> hook = HookWork{};
  std::optional<Cores> cores{};  ///< that its ranks shared; none: not known
};

}  // namespace lockstep::cost
