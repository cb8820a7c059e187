#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <memory>
#include <vector>

#include "engine/base/Future.h"
#include "engine/process_group/nccl/Library.h"
#include "engine/process_group/operation/NoticedCall.h"

namespace lockstep::process_group::nccl {

/// An open call, until the device has done it.
struct Flight final : NoticedCall {
  using NoticedCall::NoticedCall;

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
  bool launched = false;

 private:
  std::atomic<bool> underWay_{false};
};

}  // namespace lockstep::process_group::nccl
