#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/Future.h"
#include "engine/process_group/Call.h"
#include "engine/process_group/Failure.h"
#include "engine/process_group/NoticeBoard.h"
#include "engine/process_group/WorkState.h"
#include "engine/process_group/nccl/Library.h"

namespace lockstep::process_group::nccl {

/// One operation of a group, from the call until the device has done it.
struct Flight {
  using Clock = std::chrono::steady_clock;

  Call call;
  CommError::Where where;
  std::chrono::milliseconds limit{0};
  Clock::time_point calledAt = Clock::now();
  std::shared_ptr<WorkState> work;

  /// Completes when the device has it, or it failed before.
  base::Future<bool> underWay;
  void setUnderWay() {
    if (!underWay_.exchange(true)) {
      underWay.setValue(true);
    }
  }

  // Set before it is under way, and not changed after it but for `kept`, which its end empties.
  std::shared_ptr<Event> begin;  ///< the device has come to it
  std::shared_ptr<Event> end;    ///< the device has done it
  DeviceClock* clock = nullptr;
  std::atomic<const void*> channel{nullptr};  ///< those of one end in their order
  std::vector<at::Tensor> kept;               ///< memory that the device works on meanwhile

  // The Watchdog's own.
  std::uint64_t order = 0;
  bool launched = false;
  Clock::time_point askedAt{};      ///< when the watch last asked the others about it
  std::atomic<bool> asked{false};   ///< it stands on the notice board
  std::atomic<bool> placed{false};  ///< there as the place where this rank is, too

  void setTold(Told told) {
    std::lock_guard lock(mutex_);
    told_ = std::move(told);
  }
  [[nodiscard]] std::optional<Told> told() const {
    std::lock_guard lock(mutex_);
    return told_;
  }

 private:
  std::atomic<bool> underWay_{false};
  mutable std::mutex mutex_;
  std::optional<Told> told_;  // what the notice board answered last
};

}  // namespace lockstep::process_group::nccl
