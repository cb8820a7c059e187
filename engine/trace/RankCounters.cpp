#include "engine/trace/RankCounters.h"

#include <optional>
#include <string>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/trace/Event.h"

namespace lockstep::trace {

void RankCounters::sample(RankDrain& drain, std::int64_t pid, double seconds,
                          RunFileWriter* writer) {
  const std::uint64_t nowTicks = base::ticks();
  const auto add = [&](CounterId counter, double value) {
    if (writer != nullptr) {
      writer->addMetric(MetricRow{0, drain.rank(), std::string(name(counter)), drain.currentStep(),
                                  nowTicks, value});
    }
  };
  const std::optional<ResourceUse> use = resources_.sample(pid);
  if (use.has_value()) {
    seenRunning_ = true;
    for (const auto& [counter, value] : countersOf(*use)) {
      add(counter, value);
    }
  }
  const std::uint64_t sent = drain.wire().sentBytes.load(std::memory_order_relaxed);
  const std::uint64_t received = drain.wire().receivedBytes.load(std::memory_order_relaxed);
  const std::uint64_t newlySent = sent - std::exchange(sentBytes_, sent);
  const std::uint64_t newlyReceived = received - std::exchange(receivedBytes_, received);
  const double ringFill = drain.takeRingFillPercent();
  // A process that was seen and is gone has no counters. One that was never seen may be none of
  // this host's (pid 0), and its segment still counts.
  if (seconds > 0 && (use.has_value() || !seenRunning_)) {
    add(CounterId::kSentBytesPerSecond, static_cast<double>(newlySent) / seconds);
    add(CounterId::kReceivedBytesPerSecond, static_cast<double>(newlyReceived) / seconds);
    add(CounterId::kRingFillPercent, ringFill);
  }
}

}  // namespace lockstep::trace
