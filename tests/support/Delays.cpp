// A library for LD_PRELOAD (`tests/run --delays`) that holds threads up at random, where they meet
// other threads and processes: at polls, reads and writes, and where a condition is told. What must
// not depend on who comes first then meets orders that a machine seldom gives by itself.
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace {

constexpr std::uint64_t kOneIn = 16;       // of the calls below is held up before, and one after,
constexpr long kShortNs = 3'000'000;       // mostly for so long at most,
constexpr std::uint64_t kOneInIsLong = 8;  // but one in eight of them
constexpr long kLongNs = 60'000'000;       // for so long

// xorshift64 of each thread; 0 before the first call.
thread_local std::uint64_t random = 0;

std::uint64_t next() {
  if (random == 0) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    random = static_cast<std::uint64_t>(now.tv_nsec) ^
             (static_cast<std::uint64_t>(gettid()) * 0x9E3779B97F4A7C15U) ^ 1U;
  }
  random ^= random << 13;
  random ^= random >> 7;
  random ^= random << 17;
  return random;
}

void mayHoldUp() {
  if (next() % kOneIn != 0) {
    return;
  }
  const int before = errno;
  const long most = next() % kOneInIsLong == 0 ? kLongNs : kShortNs;
  const timespec time{0, static_cast<long>(next() % static_cast<std::uint64_t>(most))};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
  errno = before;
}

/// The function of that name that would be called without this library.
template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

template <typename Call>
auto heldUp(Call call) {
  mayHoldUp();
  const auto result = call();
  mayHoldUp();
  return result;
}

}  // namespace

#define LOCKSTEP_HELD_UP(result, name, parameters, ...)           \
  extern "C" result name parameters {                             \
    static auto* const function = real<result parameters>(#name); \
    return heldUp([&] { return function(__VA_ARGS__); });         \
  }

LOCKSTEP_HELD_UP(int, poll, (pollfd * fds, nfds_t count, int timeout), fds, count, timeout)
LOCKSTEP_HELD_UP(int, ppoll,
                 (pollfd * fds, nfds_t count, const timespec* timeout, const sigset_t* mask), fds,
                 count, timeout, mask)
LOCKSTEP_HELD_UP(ssize_t, read, (int fd, void* bytes, size_t size), fd, bytes, size)
LOCKSTEP_HELD_UP(ssize_t, write, (int fd, const void* bytes, size_t size), fd, bytes, size)
LOCKSTEP_HELD_UP(ssize_t, writev, (int fd, const iovec* parts, int count), fd, parts, count)
LOCKSTEP_HELD_UP(ssize_t, recv, (int fd, void* bytes, size_t size, int flags), fd, bytes, size,
                 flags)
LOCKSTEP_HELD_UP(ssize_t, send, (int fd, const void* bytes, size_t size, int flags), fd, bytes,
                 size, flags)
LOCKSTEP_HELD_UP(ssize_t, recvmsg, (int fd, msghdr* message, int flags), fd, message, flags)
LOCKSTEP_HELD_UP(ssize_t, sendmsg, (int fd, const msghdr* message, int flags), fd, message, flags)
LOCKSTEP_HELD_UP(int, pthread_cond_signal, (pthread_cond_t * condition), condition)
LOCKSTEP_HELD_UP(int, pthread_cond_broadcast, (pthread_cond_t * condition), condition)
