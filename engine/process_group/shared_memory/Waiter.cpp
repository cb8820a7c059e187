#include "engine/process_group/shared_memory/Waiter.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace lockstep::process_group::shared_memory {
namespace {

using namespace std::chrono_literals;

// How soon a sleeper notices that its operation has failed: nobody can wake exactly those.
constexpr std::chrono::nanoseconds kSlice = 50ms;
// How long the reason of another rank may be on its way.
constexpr std::chrono::nanoseconds kBelieveAfter = 1s;

int coresOfProcess() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

bool Waiter::maySpin() const {
  // Once: the set seldom changes, and a look at it is a system call.
  static const int cores = coresOfProcess();
  return spin_ != nullptr && board_.awake().load(std::memory_order_relaxed) <= cores;
}

bool Waiter::spun(const Signal& signal, std::uint32_t target) const {
  const auto end = Operation::Clock::now() + spin_->value();
  do {
    // The clock costs more than a look: four looks for one.
    for (int i = 0; i < 4; ++i) {
      if (signal.reached(target)) {
        return true;
      }
      pauseSpinning();
    }
  } while (Operation::Clock::now() < end);
  return false;
}

void Waiter::until(Signal& signal, std::uint32_t target) {
  if (signal.reached(target)) {
    return;
  }
  if (!maySpin()) {
    sleepUntil(signal, target);
    return;
  }
  const auto begin = Operation::Clock::now();
  if (!spun(signal, target)) {
    sleepUntil(signal, target);
    // What the whole wait took, with the sleep, decides how long the next one spins.
    spin_->slept(Operation::Clock::now() - begin);
  }
}

void Waiter::sleepUntil(Signal& signal, std::uint32_t target) {
  const Asleep asleep(board_);
  for (;;) {
    const std::uint32_t seen = signal.value();
    if (static_cast<std::int32_t>(seen - target) >= 0) {
      return;
    }
    // After the look and before the sleep: who fails the operation wakes nobody here, so a slice is
    // as long as this rank needs to notice it.
    check();
    const auto left = operation_.deadline() - Operation::Clock::now();
    // With its time over the operation has been delivered, or a reason may come: it looks again
    // every millisecond.
    signal.sleep(seen, std::clamp<std::chrono::nanoseconds>(left, 1ms, kSlice));
  }
}

// Some rank has given up, and why may still be heard.
bool Waiter::reasonMayCome() {
  if (!board_.broken()) {
    return false;
  }
  const auto now = Operation::Clock::now();
  // From the first look on, for one second.
  reasonBy_ = reasonBy_.value_or(now + kBelieveAfter);
  return now < *reasonBy_;
}

void Waiter::untilFailed() {
  for (;;) {
    if (!reasonMayCome()) {
      operation_.fail(Failure{"another rank has given up", -1, CommErrorKind::kRemote});
    }
    check();
    std::this_thread::sleep_for(1ms);
  }
}

void Waiter::check() {
  // An operation that was delivered meanwhile ends well, however late: refuse() says so, and the
  // wait goes on. A rank whose process was frozen may find that another has given up on it
  // (reasonMayCome).
  if (!operation_.failed() && Operation::Clock::now() >= operation_.deadline() &&
      !reasonMayCome() && board_.refuse(operation_.order())) {
    operation_.fail(timeOut_());
  }
  if (operation_.failed()) {
    throw Interrupted{};
  }
}

}  // namespace lockstep::process_group::shared_memory
