#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/Future.h"
#include "engine/hooks/HookStream.h"
#include "engine/hooks/HookTrace.h"
#include "engine/hooks/plugin/detail/Buffers.h"
#include "engine/process_group/Work.h"
#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::hooks::detail {

class PluginSession;

/// One operation that a run queued. It starts when the runs before its own have said no_more(). The
/// plugin is resumed for it when it has ended, and after those that its run queued before it.
struct QueuedOperation {
  using Works = std::vector<std::shared_ptr<process_group::Work>>;

  std::uint64_t number = 0;  ///< in its run
  std::uint32_t stage = 0;
  std::uint64_t bytes = 0;
  std::function<Works()> start;
  /// In place of start: begins the hook inside and says when it has ended.
  using Ended = std::function<void(std::exception_ptr)>;
  std::function<void(Ended)> startInner;
  bool exclusive = false;  ///< later ones of its run wait until it has ended
  bool started = false;
  std::size_t open = 0;  ///< works that have not ended
  HookTrace::Moment begun;
};

}  // namespace lockstep::hooks::detail

/// What a plugin holds as an opaque pointer. Touched on the strand alone.
struct lockstep_run {
  lockstep::hooks::detail::PluginSession* session = nullptr;
  std::string place;  ///< "bucket 3 of step 12", "after_optimizer of step 12"
  std::string note;   ///< for a crash: "in hook 'topk', bucket 3 of step 12"
  std::uint32_t step = 0;
  std::uint16_t bucket = 0;  ///< as events carry it
  std::uint64_t bytes = 0;   ///< of the gradients
  std::unique_ptr<lockstep::hooks::detail::BucketView> view;      ///< of a call for a bucket
  std::shared_ptr<lockstep::hooks::detail::StepView> parameters;  ///< of a call around a step
  at::Tensor flat;  ///< kept alive; what the future gives
  c10::Device device = c10::DeviceType::CPU;
  lockstep::hooks::StreamPoint begun;  ///< its device had come so far when it was begun
  /// Of its work on the device; set before the future has its value.
  std::shared_ptr<lockstep::hooks::StreamPoint> done =
      std::make_shared<lockstep::hooks::StreamPoint>();
  std::vector<at::Tensor> scratch;
  std::deque<lockstep::hooks::detail::QueuedOperation> operations;
  std::uint64_t queued = 0;  ///< operations so far
  void* slot = nullptr;
  bool noMore = false;
  bool delivered = false;      ///< the future has its value
  bool ended = false;          ///< completed, failed or cancelled
  bool marked = false;         ///< the plugin marks its phases itself
  bool queuedInCall = false;   ///< in the call into the plugin that is going on
  lockstep::hooks::HookTrace::Moment callBegun;
  lockstep::hooks::HookTrace::Moment markBegun;  ///< 0 ticks: no phase is marked
  lockstep::base::Future<at::Tensor> future;
};
