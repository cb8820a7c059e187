#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/RunData.h"

namespace lockstep::analysis {

// Note [Causes]
// Every moment of a rank's step has one cause, so that the causes of a step add up to it and
// those of two runs can be set against each other. A moment goes to the first that claims it:
//   computing       Note [Overlap]
//   no core         the step thread was ready and had none (Note [Overlap]), kept apart by whether
//                   a collective was in flight meanwhile
//   transfer,       a collective is in flight. Of several, the one that began first has it: the
//   waiting         others would be done no sooner without it. Before its last rank arrives it is
//                   waiting for that rank, afterwards transfer.
//   communicating   the same where it is unknown who came last: a rank's record is missing, or it
//                   is a send or a receive, or a copy between DataParallel's devices.
//   encode, decode  a hook's, while nothing is in flight
//   launch delay    a bucket is ready, its first collective has not begun, nothing else goes on:
//                   buckets before it, or a thread that is not woken
//   other           data, copies into and out of buckets, bookkeeping
// Transfer, waiting, communicating and no core in flight together are the exposed time of
// StepTimes.

enum class Cause : std::uint8_t {
  kComputing,
  kNoCoreInFlight,
  kNoCore,
  kTransfer,
  kWaiting,
  kCommunicating,
  kEncode,
  kDecode,
  kLaunchDelay,
  kOther,
};

/// Whether time of this cause is exposed communication.
bool isExposed(Cause cause);

/// What a part of a step is due to.
struct CauseKey {
  Cause cause = Cause::kOther;
  std::uint16_t bucket = trace::kNoBucket;  ///< of the communication; kNoBucket: of none
  /// kWaiting: the rank that came last; -1: the clocks of several hosts cannot tell which did.
  int waitedFor = -1;

  auto operator<=>(const CauseKey&) const = default;
};

struct CauseTime {
  CauseKey key;
  double ms = 0;
};

/// One measured step of one rank and what it was spent on; each key once, none of 0 ms.
struct StepCauses {
  int rank = 0;
  std::uint32_t step = 0;
  std::vector<CauseTime> parts;  ///< by key
};

/// Returns the causes of the measured steps: after the warm-up, and complete. `run` is the
/// analysis of `data`.
std::vector<StepCauses> stepCauses(const RunData& data, const RunAnalysis& run);

}  // namespace lockstep::analysis
