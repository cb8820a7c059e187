#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "engine/process_group/ForwardingGroup.h"

namespace lockstep::process_group {

/// One of two ranks of a group that moves nothing: what a call comes to is said by who derives
/// from it, in forward().
class StandIn : public ForwardingGroup {
 public:
  explicit StandIn(int rank) : ForwardingGroup(rank, 2, "stand-in", "stand-in") {}
  [[nodiscard]] std::uint64_t sequenceNumber() const override { return 0; }
  [[nodiscard]] std::chrono::milliseconds timeout() const override {
    return std::chrono::seconds(20);
  }
  void setTimeout(std::chrono::milliseconds) override {}
  void abort(const std::string&) override {}
};

}  // namespace lockstep::process_group
