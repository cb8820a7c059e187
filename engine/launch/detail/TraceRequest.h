#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch::detail {

/// A rank of an observed job as a request for a trace sees it.
struct TracedRank {
  int rank = 0;
  pid_t pid = 0;          ///< of this host's process; 0: it is not visible from here
  bool isHere = false;    ///< it attached, and has not ended
  std::string otherHost;  ///< that it is on; empty: it is on this one
  trace::SegmentHeader* header = nullptr;
};

/// Asks every rank for a trace of its next `steps` iterations (1..kMostTracedSteps): a word in its
/// event memory, at which it looks as an iteration begins. Error, and nobody is asked: no rank is
/// there, one has ended, is stopped or on another host, an earlier request is not over.
base::Status requestTraces(const std::vector<TracedRank>& ranks, int steps);

}  // namespace lockstep::launch::detail
