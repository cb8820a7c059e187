#include "engine/launch/detail/TraceRequest.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/NumberText.h"
#include "engine/base/posix/ChildProcess.h"

namespace lockstep::launch::detail {
namespace {

// The word is number << 16 | steps. A process compares the number with that of the last request it
// carried out, and puts the word into traceDone when it is through.
constexpr std::uint32_t kStepBits = 16;

base::Error noTrace(std::string why) {
  return {base::ExitCode::kEnvironment, std::move(why), "trace"};
}

}  // namespace

bool isStopped(std::int64_t pid) {
  const char state = posix::schedulerState(pid);
  return state == 'T' || state == 't';
}

base::Result<std::uint32_t> requestTraces(const std::vector<TracedRank>& ranks, int steps) {
  if (std::none_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank.isHere; })) {
    return noTrace("no rank of this job is there to be traced");
  }
  // All or none: a trace of some ranks does not show who waited for whom.
  for (const TracedRank& rank : ranks) {
    if (!rank.isHere) {
      return noTrace(fmt::format("rank {} of this job is not there to be traced", rank.rank));
    }
    if (rank.isStopped) {
      return noTrace(
          fmt::format("rank {} is stopped and would not trace; let it go on (kill -CONT {}{})",
                      rank.rank, rank.pid, rank.otherHost.empty() ? "" : " on " + rank.otherHost));
    }
    const std::uint32_t asked = rank.header->traceRequested.load(std::memory_order_relaxed);
    if (rank.header->traceDone.load(std::memory_order_relaxed) != asked) {
      const std::uint32_t under = asked & ((1u << kStepBits) - 1);
      return noTrace(fmt::format("a capture of {} is under way: rank {} has not ended it",
                                 base::countedText(under, "iteration"), rank.rank));
    }
  }
  // One number for all, also for a process that took the place of another.
  std::uint32_t number = 0;
  for (const TracedRank& rank : ranks) {
    number = std::max(number, rank.header->traceRequested.load() >> kStepBits);
  }
  // 1 to 65535: 0 means that nothing was asked for.
  number = number % 0xFFFF + 1;
  const std::uint32_t request = number << kStepBits | static_cast<std::uint32_t>(steps);
  for (const TracedRank& rank : ranks) {
    rank.header->traceRequested.store(request, std::memory_order_relaxed);
  }
  return request;
}

void forgetTraces(trace::SegmentHeader& header) {
  header.traceRequested.store(0, std::memory_order_relaxed);
  header.traceDone.store(0, std::memory_order_relaxed);
}

}  // namespace lockstep::launch::detail
