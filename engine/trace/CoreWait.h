#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/posix/Descriptor.h"
#include "engine/trace/Tracer.h"

namespace lockstep::trace {

/// How long a thread was ready to run and had no core, by the kernel's account of it. It costs
/// half a µs at most every 0.2 ms, so that it may be asked for at every gradient.
class CoreWait {
 public:
  /// That of the calling thread, which alone may use it.
  static CoreWait& ofThisThread();

  CoreWait(const CoreWait&) = delete;
  CoreWait& operator=(const CoreWait&) = delete;

  /// Emits a kOffCore span from the look before until now, where the thread waited in it: nothing
  /// while `lane` records nothing, soon after the look before, or where the kernel cannot say.
  void tell(Lane& lane, std::uint32_t step) {
    if (file_.open() && lane.enabled()) {
      look(lane, step);
    }
  }

 private:
  CoreWait();
  void look(Lane& lane, std::uint32_t step);

  const posix::Descriptor file_;
  std::int64_t lookedNs_ = 0;
  std::uint64_t lookedTicks_ = 0;
  std::uint64_t waitedNs_ = 0;
};

/// Returns by what waits for a core are told here: "schedstat" or "unknown".
std::string_view coreWaitSource();

}  // namespace lockstep::trace
