#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lockstep::process_group::shared_memory {

// Note [Memory order]
// Ranks hand each other data in shared memory by counting up a Signal. Two things must hold on
// x86-64 and on arm64 alike.
//
// Data: what a rank writes before its add() is seen by who has read the sum. add() is a
// read-modify-write that releases, reached() a load that acquires; all later adds of others are
// read-modify-writes, which continue the release sequence of each earlier one. So who reads the
// sum of all ranks' adds synchronises with every one of them, not only with the last. On arm64
// this is LDADDAL and LDAR; on x86-64, where loads acquire and stores release by themselves, a
// LOCK XADD and a plain load.
//
// Sleep: nobody may sleep through the last add. The sleeper writes `sleepers`, then reads
// `value`; the adder writes `value`, then reads `sleepers`. With release and acquire alone both
// could read the old state (Dekker's pattern: a store may pass a later load, on x86-64, too). All
// four are seq_cst, so one of them sees the other: the adder wakes, or the sleeper does not go to
// sleep; what happens between the sleeper's look and the kernel's is caught by the kernel, which
// compares the value again. On x86-64 a locked instruction orders both; on arm64 seq_cst accesses
// (LDAR, STLR, and LDADDAL) keep their order among themselves.

/// A counter in memory that several processes share, on which their threads can sleep. Starts
/// out as zeroed memory. It only ever counts up, modulo 2^32: compare with reached().
class alignas(64) Signal {
 public:
  /// Returns the sum; does not wake.
  std::uint32_t add(std::uint32_t amount) { return value_.fetch_add(amount) + amount; }
  /// For a signal that one rank alone counts up.
  void set(std::uint32_t value) { value_.store(value); }
  [[nodiscard]] std::uint32_t value() const { return value_.load(std::memory_order_acquire); }
  [[nodiscard]] bool reached(std::uint32_t target) const {
    return static_cast<std::int32_t>(value() - target) >= 0;
  }

  /// Wakes all who sleep, in every process; no system call when nobody does.
  void wakeAll() {
    if (sleepers_.load() != 0) {
      wakeSleepers();
    }
  }

  /// Sleeps while the value is `expected`, until somebody wakes, at most `longest`; may come back
  /// early.
  void sleep(std::uint32_t expected, std::chrono::nanoseconds longest);

 private:
  void wakeSleepers();

  std::atomic<std::uint32_t> value_;
  // A process that is killed in its sleep stays counted: the others then wake in vain.
  std::atomic<std::uint32_t> sleepers_;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(Signal) == 64);

/// Tells the processor that this thread spins.
inline void pauseSpinning() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace lockstep::process_group::shared_memory
