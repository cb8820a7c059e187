#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "engine/process_group/hierarchical/Part.h"
#include "engine/process_group/operation/OpenCall.h"

namespace lockstep::process_group::hierarchical {

inline constexpr int kStages = 3;

/// One stage of an operation.
struct Step {
  using Issue = std::function<ProcessGroup::WorkPtr(const CallOptions& options)>;
  const Part* part = nullptr;
  Issue issue;  ///< empty: nothing to do here
};

/// What an operation does on this rank.
struct Plan {
  std::array<Step, kStages> steps;  ///< send and recv: the first only
  /// Runs when the last stage has ended well, whose work is given (null when there was none).
  std::function<void(const Work* last)> finish;
};

/// An open call on its way through the stages; under the mutex of its Pipeline.
struct Journey final : OpenCall {
  using OpenCall::OpenCall;

  Plan plan;
  int entered = 0;                    // stages
  int left = 0;                       // stages: those it has ended
  ProcessGroup::WorkPtr last;         // of the stage it is in, or was in last
  std::chrono::milliseconds given{};  // what that stage may take
  bool issued = false;  // of a send or receive: `last` is its work, and stays so
  bool settling = false;

  [[nodiscard]] bool direct() const { return isDirect(call.operation); }
  [[nodiscard]] int stages() const { return direct() ? 1 : kStages; }
  [[nodiscard]] bool inStage() const { return entered > left; }
  [[nodiscard]] Clock::time_point dueBy() const {
    return abandoned ? Clock::time_point::max() : deadline();
  }
};

using JourneyPtr = std::shared_ptr<Journey>;

}  // namespace lockstep::process_group::hierarchical
