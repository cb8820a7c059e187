#include "engine/trace/CoreWait.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>

#include "engine/base/Clock.h"
#include "engine/trace/Event.h"

namespace lockstep::trace {
namespace {

constexpr const char* kSchedstat = "/proc/thread-self/schedstat";
constexpr std::int64_t kBetweenLooksNs = 200'000;
constexpr std::uint64_t kShortestWaitNs = 10'000;  // less is a wake-up

/// Returns the second number of schedstat: time spent ready and without a core, in all.
std::optional<std::uint64_t> waitedNs(int file) {
  std::array<char, 96> text{};
  const ssize_t count = pread(file, text.data(), text.size(), 0);
  const char* const end = text.data() + (count > 0 ? count : 0);
  std::uint64_t ran = 0;
  std::uint64_t waited = 0;
  const auto first = std::from_chars(text.data(), end, ran);
  if (first.ec != std::errc() || first.ptr == end ||
      std::from_chars(first.ptr + 1, end, waited).ec != std::errc()) {
    return std::nullopt;
  }
  return waited;
}

}  // namespace

CoreWait& CoreWait::ofThisThread() {
  thread_local CoreWait wait;
  return wait;
}

CoreWait::CoreWait() : file_(open(kSchedstat, O_RDONLY | O_CLOEXEC)) {}

void CoreWait::look(Lane& lane, std::uint32_t step) {
  // Most calls end here, at the price of reading the clock: the read below costs half a µs.
  const std::int64_t nowNs = base::monotonicNs();
  if (nowNs - lookedNs_ < kBetweenLooksNs) {
    return;
  }
  const std::optional<std::uint64_t> waited = waitedNs(file_.get());
  const std::uint64_t nowTicks = base::ticks();
  if (!waited) {
    return;
  }
  // The first look has nothing before it: the kernel counts from the thread's birth.
  if (lookedNs_ != 0 && *waited >= waitedNs_ + kShortestWaitNs) {
    lane.spanUntil(EventKind::kOffCore, lookedTicks_, nowTicks, step, kNoBucket,
                   *waited - waitedNs_);
  }
  lookedNs_ = nowNs;
  lookedTicks_ = nowTicks;
  waitedNs_ = *waited;
}

std::string_view coreWaitSource() {
  return access(kSchedstat, R_OK) == 0 ? "schedstat" : "unknown";
}

}  // namespace lockstep::trace
