#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "engine/process_group/Call.h"
#include "engine/process_group/WorkState.h"
#include "engine/process_group/hierarchical/Part.h"

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

/// One operation, from the call to its end; under the mutex of its Pipeline.
struct Journey {
  using Clock = std::chrono::steady_clock;

  Call call;
  Plan plan;
  CommError::Where where;
  std::shared_ptr<WorkState> work;
  std::chrono::milliseconds limit{};
  Clock::time_point deadline;
  int entered = 0;                    // stages
  int left = 0;                       // stages: those it has ended
  ProcessGroup::WorkPtr last;         // of the stage it is in, or was in last
  std::chrono::milliseconds given{};  // what that stage may take
  std::uint64_t startTicks = 0;
  Failure failure;
  bool issued = false;     // of a send or receive: `last` is its work, and stays so
  bool abandoned = false;  // it has no limit any more: see Work::abort()
  bool ended = false;      // nothing moves any more
  bool settling = false;

  [[nodiscard]] bool direct() const { return isDirect(call.operation); }
  [[nodiscard]] int stages() const { return direct() ? 1 : kStages; }
  [[nodiscard]] bool inStage() const { return entered > left; }
  [[nodiscard]] bool failed() const { return !failure.what.empty(); }
  [[nodiscard]] std::exception_ptr error() const {
    CommError::Where at = where;
    at.kind = failure.kind;
    at.timedOut = failure.kind == CommErrorKind::kTimeout;
    at.peer = failure.peer;
    return std::make_exception_ptr(CommError(std::move(at), failure.what));
  }
};

using JourneyPtr = std::shared_ptr<Journey>;

}  // namespace lockstep::process_group::hierarchical
