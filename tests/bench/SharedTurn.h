#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

namespace lockstep::bench {

/// A turn of an allreduce benchmark, "go N allreduce BYTES": N sums of so many bytes of floats.
struct Turn {
  long calls = 0;  ///< 0: there are no more turns
  std::size_t floats = 0;

  /// Returns the turn that a line asks for; calls is 0 when it asks for none.
  static Turn from(const std::string& line) {
    std::istringstream words(line);
    std::string go, what;
    long calls = 0;
    std::size_t bytes = 0;
    const bool read = static_cast<bool>(words >> go >> calls >> what >> bytes);
    const bool asks = read && go == "go" && what == "allreduce" && calls > 0;
    return asks && bytes >= sizeof(float) ? Turn{calls, bytes / sizeof(float)} : Turn{};
  }
};

/// Stands in memory that the ranks of a benchmark share, all bytes zero at first; one rank tells
/// the others what to run, and these sleep until it does.
class SharedTurn {
 public:
  void tell(const Turn& turn) {
    turn_ = turn;
    number_.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &number_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

  /// Returns the turn that follows the `seen` first ones.
  [[nodiscard]] Turn await(std::uint32_t seen) const {
    while (number_.load(std::memory_order_acquire) == seen) {
      syscall(SYS_futex, &number_, FUTEX_WAIT, seen, nullptr, nullptr, 0);
    }
    return turn_;
  }

 private:
  std::atomic<std::uint32_t> number_;  // a futex: no lock, four bytes
  Turn turn_;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace lockstep::bench
