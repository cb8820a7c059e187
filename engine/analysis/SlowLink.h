#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/analysis/RunData.h"
#include "engine/analysis/StepOverlap.h"

namespace lockstep::analysis {

// Note [Slow link]
// What no order of the buckets could hide (Note [Tail]) is there in most runs for a moment, and a
// thread that has no core makes every transfer longer. So it is said to cost, and what could help,
// only where its mean over the steps of a rank, less what any rank's step thread waited for a core
// in the step, and what a hypervisor may have taken of it, is beyond chance above kTellingShare of
// the mean step: the interval (BlockBootstrap.h) is of 99 % over all ranks together. It is a link's
// only where messages cross one, a shaped one or that between hosts; else it is the memory and the
// cores of the host that carry them.

inline constexpr double kTellingShare = 0.10;

/// Calls what is TailCause::kMuchTransfer telling where it is, and a slow link where messages cross
/// a link. `steps` are those of `data`, before `firstMeasured` not judged.
void judgeTransfers(std::vector<StepOverlap>& steps, const RunData& data,
                    std::uint32_t firstMeasured);

/// The longest that any rank's step thread waited for a core, of each step, in ms, with what a
/// hypervisor may have taken of it.
std::map<std::uint32_t, double> longestCoreWaits(const std::vector<StepOverlap>& steps);

}  // namespace lockstep::analysis
