#include "engine/data_parallel/ParallelApply.h"

#include <ATen/ThreadLocalState.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <exception>
#include <string>
#include <thread>

#include "engine/base/Thread.h"
#include "engine/data_parallel/DataParallelError.h"
#include "engine/trace/Event.h"

namespace lockstep::data_parallel {

namespace {

std::string textOf(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

[[noreturn]] void rethrowNaming(const std::exception_ptr& failure, std::size_t replica,
                                const Device& device, Half half) {
  const std::string text =
      fmt::format("replica {} on device {}, {}: {}", replica, device.name(),
                  half == Half::kForward ? "forward" : "backward", textOf(failure));
  try {
    std::rethrow_exception(failure);
  } catch (...) {
    std::throw_with_nested(ReplicaError(text));
  }
}

}  // namespace

void parallelApply(const DeviceLanes& where, std::size_t count, Half half, std::uint32_t step,
                   const std::function<void(std::size_t)>& work) {
  std::vector<std::exception_ptr> failures(count);
  const auto apply = [&](std::size_t replica) {
    const c10::OptionalDeviceGuard guard(where.devices[replica].place);
    const std::uint64_t startTicks = base::ticks();
    try {
      work(replica);
    } catch (...) {
      failures[replica] = std::current_exception();
    }
    where.lanes[replica]->span(trace::EventKind::kParallelApply, startTicks, step, trace::kNoBucket,
                               static_cast<std::uint64_t>(half),
                               static_cast<std::uint16_t>(replica));
  };
  if (count == 1) {
    apply(0);
  } else {
    // Gradient mode, autocast and the like are of the thread: a new one would begin with the
    // defaults.
    const at::ThreadLocalState state;
    std::vector<std::jthread> threads;  // joins, too, when a later one cannot be started
    threads.reserve(count);
    for (std::size_t replica = 0; replica < count; ++replica) {
      threads.emplace_back([&, replica] {
        base::nameThisThread(fmt::format("device {}", replica));
        const at::ThreadLocalStateGuard guard(state);
        apply(replica);
      });
    }
  }
  // After all have ended: their graphs and tensors are not touched while another still runs.
  for (std::size_t replica = 0; replica < count; ++replica) {
    if (failures[replica] != nullptr) {
      rethrowNaming(failures[replica], replica, where.devices[replica], half);
    }
  }
}

}  // namespace lockstep::data_parallel
