#pragma once

#include <cstdint>
#include <string>

#include "engine/process_group/ProcessGroupFactory.h"

namespace lockstep::process_group {

/// Which rank of which group this is, and where what it does is recorded.
struct Member {
  std::string group;
  int rank = 0;
  int size = 1;
  int threads = 2;  ///< as in GroupOptions
  trace::Tracer* tracer = nullptr;
  trace::Tracer* wireCounter = nullptr;
  std::uint8_t groupNumber = 0;

  Member(int ofRank, int ofSize, const GroupOptions& options)
      : group(options.groupName),
        rank(ofRank),
        size(ofSize),
        threads(options.threads),
        tracer(options.tracer),
        wireCounter(options.wireCounter),
        groupNumber(options.groupNumber) {}
};

}  // namespace lockstep::process_group
