#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/cost/TransferFit.h"

namespace lockstep::cost {

// Note [The probe of a run]
// Before it trains, a run times a few allreduces of several sizes among all its ranks, on a group
// of its own over the same backend and link, so that one with a single size of buckets tells
// latency from bandwidth. What it found stands in the run file: environment "probe" of each rank,
// as BYTES:NANOSECONDS, separated by blanks, of the rank that came last to each and so waited for
// nobody. With three ranks or more each also times messages to the next one of the ring, which
// stands in "next_peer" the same way: an allreduce is as slow as the slowest link, and does not say
// whose that is.

/// Writes what a probe measured.
std::string probeText(const std::vector<TransferSample>& probes);

/// Reads it; what cannot be read is left out.
std::vector<TransferSample> probesFrom(std::string_view text);

}  // namespace lockstep::cost
