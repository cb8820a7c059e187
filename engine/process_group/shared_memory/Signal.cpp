#include "engine/process_group/shared_memory/Signal.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace lockstep::process_group::shared_memory {

// Not FUTEX_PRIVATE_FLAG: the sleepers are threads of several processes.
void Signal::wakeSleepers() {
  syscall(SYS_futex, &value_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Signal::sleep(std::uint32_t expected, std::chrono::nanoseconds longest) {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(longest.count() / 1'000'000'000);
  limit.tv_nsec = static_cast<long>(longest.count() % 1'000'000'000);
  // Before the look at the value: see Note [Memory order].
  sleepers_.fetch_add(1);
  if (value_.load() == expected) {
    // EAGAIN, EINTR and a passed limit are all the same to the caller, who looks again.
    syscall(SYS_futex, &value_, FUTEX_WAIT, expected, &limit, nullptr, 0);
  }
  sleepers_.fetch_sub(1);
}

}  // namespace lockstep::process_group::shared_memory
