#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "engine/process_group/Request.h"

namespace lockstep::process_group {

/// One of two ranks of a group that moves nothing: what a call comes to is said by who derives
/// from it, in start().
class StandIn : public ProcessGroup {
 public:
  explicit StandIn(int rank)
      : ProcessGroup(rank, 2, "stand-in", "stand-in", Devices::kAny, std::chrono::seconds(20)) {}
  [[nodiscard]] std::string backendName() const override { return "stand-in"; }
  [[nodiscard]] std::uint64_t sequenceNumber() const override { return 0; }
  void abort(const std::string&) override {}
};

}  // namespace lockstep::process_group
