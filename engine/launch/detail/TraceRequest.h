#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch::detail {

/// A rank of an observed job as a request for a trace sees it.
struct TracedRank {
  int rank = 0;
  std::int64_t pid = 0;    ///< on its host; 0: it is not visible from there
  bool isHere = false;     ///< it attached, and has not ended
  bool isStopped = false;  ///< by a signal or a debugger
  std::string otherHost;   ///< that it is on; empty: it is on this one
  trace::SegmentHeader* header = nullptr;
};

/// Whether a process of this host is stopped, by a signal or a debugger.
bool isStopped(std::int64_t pid);

/// Asks every rank for a trace of its next `steps` iterations (1..kMostTracedSteps): a word in its
/// event memory, at which it looks as an iteration begins. Returns the word, which has to be sent
/// to those of other hosts, whose event memory here is a copy. Error, and nobody is asked: no rank
/// is there, one has ended or is stopped, an earlier request is not over.
base::Result<std::uint32_t> requestTraces(const std::vector<TracedRank>& ranks, int steps);

/// A process that takes another's place has been asked for nothing.
void forgetTraces(trace::SegmentHeader& header);

}  // namespace lockstep::launch::detail
