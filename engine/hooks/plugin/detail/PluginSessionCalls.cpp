// What the C tables call of a session, from within a call into the plugin.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "engine/hooks/plugin/detail/Extents.h"
#include "engine/hooks/plugin/detail/PluginSession.h"
#include "engine/trace/Event.h"

namespace lockstep::hooks::detail {

at::Tensor PluginSession::tensorWithin(const lockstep_buffer& buffer) const {
  at::Tensor tensor = tensorOf(buffer);
  Extents extents(tensor);
  memory_.addTo(extents);
  if (options_.strand->isHere()) {  // elsewhere, in save() and load(), there are no runs to ask
    for (const RunPtr& run : runs_) {
      extents.add("", run->place,
                  run->view == nullptr ? lockstep_buffer{} : run->view->raw()->flat);
      for (const at::Tensor& memory : run->scratch) {
        extents.add("scratch memory of ", run->place, memory);
      }
      for (std::uint32_t i = 0;
           run->parameters != nullptr && i < run->parameters->raw()->param_count; ++i) {
        const lockstep_parameter& parameter = *run->parameters->raw()->params[i];
        extents.add("parameter ", parameter.name, parameter.value);
      }
    }
  }
  extents.check();
  return tensor;
}

lockstep_status PluginSession::queue(lockstep_run* raw, const char* function,
                                     QueuedOperation operation) {
  const RunPtr run = live(raw, function);
  if (run == nullptr) {
    return LOCKSTEP_E_ARGUMENT;
  }
  if (run->noMore) {
    return refuse("an operation was queued after no_more()");
  }
  // The first operation ends what the plugin encoded for it.
  if (!run->queuedInCall && !run->marked) {
    record(*run, trace::EventKind::kHookEncode, run->callBegun);
  }
  run->queuedInCall = true;
  operation.number = run->queued++;
  run->operations.push_back(std::move(operation));
  return LOCKSTEP_OK;
}

lockstep_status PluginSession::refuse(const std::string& why) {
  std::lock_guard lock(mutex_);
  reason_ = why;
  return LOCKSTEP_E_ARGUMENT;
}

lockstep_status PluginSession::refuse(const std::string& where, const std::exception& error) {
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  refuse(fmt::format("{}: {}", where,
                     torch != nullptr ? torch->what_without_backtrace() : error.what()));
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
      dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return LOCKSTEP_E_MEMORY;
  }
  return dynamic_cast<const Unsupported*>(&error) != nullptr ? LOCKSTEP_E_UNSUPPORTED
                                                             : LOCKSTEP_E_ARGUMENT;
}

void PluginSession::broke(lockstep_run* raw, std::exception_ptr error) {
  breakDown(open(raw), std::move(error), false);
}

lockstep_status PluginSession::scratch(lockstep_run* raw, std::int64_t numel, std::int32_t dtype,
                                       lockstep_buffer* out) {
  const RunPtr run = live(raw, "scratch");
  if (run == nullptr) {
    return LOCKSTEP_E_ARGUMENT;
  }
  if (numel < 0) {
    return refuse(fmt::format("it asked for {} elements of scratch memory", numel));
  }
  const at::ScalarType type = dtypeOf(dtype);
  const std::int64_t size = numel * static_cast<std::int64_t>(c10::elementSize(type));
  const at::Tensor bytes =
      run->device.is_cpu() ? options_.groups->world()->allocate(size)
                           : at::empty({size}, at::TensorOptions(at::kByte).device(run->device));
  run->scratch.push_back(bytes);
  *out = bufferOf(bytes, streamHandle(run->device));
  out->numel = numel;
  out->dtype = dtype;
  return LOCKSTEP_OK;
}

lockstep_status PluginSession::subgroup(std::vector<int> ranks, const lockstep_group** out) {
  const int own = options_.groups->world()->rank();
  // Every rank calls newGroup(), members or not: it is a collective over the world.
  const bool member = std::find(ranks.begin(), ranks.end(), own) != ranks.end();
  // Waits for the other ranks, by a limit of its own: it is not the hook that takes the time.
  const std::string call = watch() == nullptr ? "" : watch()->end(0);
  auto group = options_.groups->newGroup(std::move(ranks));
  if (!call.empty()) {
    watch()->begin(0, call);
  }
  if (!group.ok()) {
    return refuse(group.error().message());
  }
  *out = member ? wrap(std::move(group).value()) : nullptr;
  return LOCKSTEP_OK;
}

lockstep_status PluginSession::runInner(lockstep_run* raw, std::uint32_t stage,
                                        const lockstep_buffer& buffer) {
  constexpr const char* kFunction = "lockstep_ext_inner.run";
  const RunPtr run = live(raw, kFunction);
  if (run == nullptr) {
    return LOCKSTEP_E_ARGUMENT;
  }
  // A run around a step has no bucket that could be handed on.
  if (run->view == nullptr) {
    return refuse("the hook inside averages buckets, and this run has none");
  }
  if (buffer.numel != run->view->raw()->flat.numel) {
    return refuse(fmt::format("the hook inside was given {} elements, the bucket has {}",
                              buffer.numel, run->view->raw()->flat.numel));
  }
  try {
    (void)tensorWithin(buffer);
  } catch (const std::exception& error) {
    return refuse("the hook inside", error);
  }
  QueuedOperation operation;
  operation.stage = stage;
  // Its collectives are in another group's order: nothing of this run may start before it ends.
  operation.exclusive = true;
  operation.startInner = [this, run, buffer](const QueuedOperation::Ended& whenDone) {
    const auto inside = std::make_shared<lockstep_run>();
    inside->place = run->place;
    inside->step = run->step;
    inside->bucket = run->bucket;
    // The outer run, held by this function, keeps the arrays that the view points to.
    inside->view = std::make_unique<BucketView>(*run->view, buffer);
    inside->flat = tensorOf(buffer);
    inside->device = inside->flat.device();
    inside->bytes = inside->flat.nbytes();
    const lockstep_bucket* bucket = inside->view->raw();
    options_.inner
        ->begin(inside,
                [bucket](lockstep_hook* hook, lockstep_run* own, const lockstep_group* world) {
                  return hook->run(hook, own, world, bucket);
                })
        .whenComplete([whenDone](const auto& future) { whenDone(future.exception()); });
  };
  return queue(raw, kFunction, std::move(operation));
}

void PluginSession::fail(lockstep_run* raw, lockstep_status status, const std::string& text) {
  const std::string reason = takeReason();  // why the host refused what the hook then gave up on
  const std::string whole = reason.empty() ? text : fmt::format("{}: {}", text, reason);
  // In a call without a run, such as create: whoever made it asks for the sentence (takeReason).
  if (raw == nullptr) {
    std::lock_guard lock(mutex_);
    reason_ = whole;
    return;
  }
  options_.strand->runHereOrPost([self = shared_from_this(), raw, status, whole] {
    if (const RunPtr run = self->live(raw, "fail"); run != nullptr) {
      self->breakDown(run, fmt::format("{}: {}", run->place, whole), false);
    }
  });
}

void PluginSession::mark(lockstep_run* raw, std::int32_t phase, bool begins) {
  const RunPtr run = live(raw, "mark");
  if (run == nullptr || (phase != LOCKSTEP_ENCODE && phase != LOCKSTEP_DECODE)) {
    return;
  }
  // From the first mark on the phases are the plugin's word; none is derived from its calls.
  run->marked = true;
  if (begins) {
    run->markBegun = options_.trace->now(run->device);
  } else if (run->markBegun.ticks != 0) {
    record(*run,
           phase == LOCKSTEP_ENCODE ? trace::EventKind::kHookEncode : trace::EventKind::kHookDecode,
           std::exchange(run->markBegun, {}));
  }
}

void PluginSession::counter(lockstep_run* raw, const char* key, double value) {
  if (const RunPtr run = live(raw, "counter"); run != nullptr && key != nullptr) {
    std::lock_guard lock(mutex_);
    counters_[key] += value;
  }
}

void PluginSession::noMore(lockstep_run* raw) {
  if (const RunPtr run = live(raw, "no_more"); run != nullptr) {
    run->noMore = true;
  }
}

void PluginSession::resultReady(lockstep_run* raw) {
  if (const RunPtr run = live(raw, "result_ready"); run != nullptr && !run->delivered) {
    run->delivered = true;
    deliver(run);
  }
}

void PluginSession::complete(lockstep_run* raw) {
  const RunPtr run = live(raw, "complete");
  if (run == nullptr) {
    return;
  }
  if (!run->operations.empty()) {
    breakDown(run,
              fmt::format("{}: it called complete() while {} of its operations had not "
                          "been resumed",
                          run->place, run->operations.size()),
              false);
    return;
  }
  if (!run->marked && !run->queuedInCall) {
    record(*run, trace::EventKind::kHookDecode, run->callBegun);
  }
  finish(run, nullptr);
}

}  // namespace lockstep::hooks::detail
