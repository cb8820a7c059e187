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

  /// Looks at the kernel's account and, if the thread has waited since the last look, emits a
  /// kOffCore span from that look until now. Does nothing while `lane` records nothing, within 0.2
  /// ms of the last look, or where the kernel keeps no account.
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

/// Returns where waits for a core are read on this host: "schedstat", or "unknown" for nowhere.
std::string_view coreWaitSource();

}  // namespace lockstep::trace
