// The physical bound of an allreduce among processes of one host: a mapping that all share, a
// barrier that spins, each rank sums one piece of everybody's numbers and writes the result to
// everybody, and a second barrier. Nothing else: no call to check, no failure to notice.
//
//   bench_bare_allreduce RANKS LARGEST_BYTES
//
// Forks the other ranks, says {"ready": true}, and takes turns "go N allreduce BYTES" from
// standard input, each answered by {"calls": N, "total_ms": T} of the slowest rank. Between turns
// all ranks sleep.

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <thread>

#include "tests/bench/SharedTurn.h"

namespace {

using lockstep::bench::SharedTurn;
using lockstep::bench::Turn;

constexpr int kMostRanks = 64;
constexpr std::size_t kLine = 64;
constexpr std::size_t kFloatsOfALine = kLine / sizeof(float);
constexpr double kLimitMs = 60'000;  // of a barrier

struct Control {
  alignas(kLine) SharedTurn turn;
  alignas(kLine) std::atomic<std::uint32_t> arrived;
  alignas(kLine) std::atomic<std::uint32_t> generation;
  struct alignas(kLine) {
    double totalMs;
    float sum;  // of the ranks' first numbers, as this rank sees it in the end
  } answers[kMostRanks];
};

double nowMs() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "bench_bare_allreduce: %s\n", what);
  std::_Exit(1);
}

class Ranks {
 public:
  Ranks(int size, std::size_t floats) : size_(size), stride_(floats) {
    const std::size_t bytes = sizeof(Control) + size * stride_ * sizeof(float);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      fail("no memory for the ranks' numbers");
    }
    control_ = new (memory) Control{};
    numbers_ = reinterpret_cast<float*>(static_cast<char*>(memory) + sizeof(Control));
    const auto cores = std::thread::hardware_concurrency();
    spins_ = static_cast<unsigned>(size) <= cores ? 4096 : 1;
  }

  /// Starts ranks 1 and up, which take turns until this process ends.
  void fork() {
    for (int rank = 1; rank < size_; ++rank) {
      const pid_t parent = getpid();
      const pid_t child = ::fork();
      if (child < 0) {
        fail("a rank cannot be forked");
      }
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
          std::_Exit(0);
        }
        follow(rank);
      }
    }
  }

  /// Runs one turn on all ranks; returns the slowest one's time.
  double run(const Turn& turn) {
    control_->turn.tell(turn);
    run(turn, 0);
    double slowest = 0;
    for (int rank = 0; rank < size_; ++rank) {
      slowest = std::max(slowest, control_->answers[rank].totalMs);
      if (control_->answers[rank].sum != static_cast<float>(size_ * (size_ + 1) / 2)) {
        fail("the ranks' sum is wrong");
      }
    }
    return slowest;
  }

 private:
  [[noreturn]] void follow(int rank) {
    for (std::uint32_t seen = 0;; ++seen) {
      run(control_->turn.await(seen), rank);
    }
  }

  float* numbers(int rank) { return numbers_ + rank * stride_; }

  void run(const Turn& turn, int rank) {
    const auto [calls, floats] = turn;
    std::fill_n(numbers(rank), floats, static_cast<float>(rank + 1));
    allreduce(rank, floats);
    control_->answers[rank].sum = numbers(rank)[floats - 1];
    std::fill_n(numbers(rank), floats, 0.0f);
    barrier();
    const double start = nowMs();
    for (long call = 0; call < calls; ++call) {
      allreduce(rank, floats);
    }
    control_->answers[rank].totalMs = nowMs() - start;
    barrier();
  }

  void allreduce(int rank, std::size_t floats) {
    barrier();
    const std::size_t lines = (floats + kFloatsOfALine - 1) / kFloatsOfALine;
    const std::size_t first = std::min(floats, lines * rank / size_ * kFloatsOfALine);
    const std::size_t last = std::min(floats, lines * (rank + 1) / size_ * kFloatsOfALine);
    if (size_ == 2) {
      addTwo(numbers(0) + first, numbers(1) + first, last - first);
    } else {
      addAll(first, last);
    }
    barrier();
  }

#if defined(__x86_64__)
  __attribute__((target_clones("avx2", "default")))
#endif
  static void
  addTwo(float* __restrict a, float* __restrict b, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      a[i] = b[i] = a[i] + b[i];
    }
  }

  // Block by block, so that a sum is written while it is in the nearest cache.
  void addAll(std::size_t first, std::size_t last) {
    constexpr std::size_t kBlock = 1024;
    float sums[kBlock];
    for (std::size_t at = first; at < last; at += kBlock) {
      const std::size_t count = std::min(kBlock, last - at);
      std::memcpy(sums, numbers(0) + at, count * sizeof(float));
      for (int rank = 1; rank < size_; ++rank) {
        addTo(sums, numbers(rank) + at, count);
      }
      for (int rank = 0; rank < size_; ++rank) {
        std::memcpy(numbers(rank) + at, sums, count * sizeof(float));
      }
    }
  }

#if defined(__x86_64__)
  __attribute__((target_clones("avx2", "default")))
#endif
  static void
  addTo(float* __restrict sums, const float* __restrict numbers, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      sums[i] += numbers[i];
    }
  }

  void barrier() {
    const std::uint32_t generation = control_->generation.load(std::memory_order_acquire);
    if (control_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 ==
        static_cast<std::uint32_t>(size_)) {
      control_->arrived.store(0, std::memory_order_relaxed);
      control_->generation.store(generation + 1, std::memory_order_release);
      return;
    }
    double deadline = 0;
    unsigned spins = 0;
    while (control_->generation.load(std::memory_order_acquire) == generation) {
      if (++spins < spins_) {
        continue;
      }
      spins = 0;
      sched_yield();
      const double now = nowMs();
      deadline = deadline == 0 ? now + kLimitMs : deadline;
      if (now > deadline) {
        fail("a rank did not come to a barrier within 60 s");
      }
    }
  }

  int size_;
  std::size_t stride_;  // floats from one rank's numbers to the next one's
  unsigned spins_;      // between two looks whether another process wants the processor
  Control* control_ = nullptr;
  float* numbers_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  const int size = argc == 3 ? std::atoi(argv[1]) : 0;
  const long largest = argc == 3 ? std::atol(argv[2]) : 0;
  if (size < 2 || size > kMostRanks || largest < static_cast<long>(sizeof(float))) {
    fail("usage: bench_bare_allreduce RANKS LARGEST_BYTES   (2 to 64 ranks)");
  }
  const std::size_t lines = (static_cast<std::size_t>(largest) + kLine - 1) / kLine;
  Ranks ranks(size, lines * kFloatsOfALine);
  ranks.fork();
  std::cout << "{\"ready\": true}" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const Turn turn = Turn::from(line);
    if (turn.calls == 0 || turn.floats * sizeof(float) > static_cast<std::size_t>(largest)) {
      fail("a turn is \"go N allreduce BYTES\"");
    }
    const double totalMs = ranks.run(turn);
    std::cout << "{\"calls\": " << turn.calls << ", \"total_ms\": " << totalMs << "}" << std::endl;
  }
  return 0;
}
