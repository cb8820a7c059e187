// How near the shaped link comes to its preset. `tests/bench/run shaped` prints the lines that
// these tests record.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/engine/process_group/shaped/ShapedThreads.h"

namespace lockstep::process_group {
namespace {

constexpr double kHopMs = 1;      // the latency of a link
constexpr double kLatencyMs = 2;  // of an allreduce between two ranks: two hops
// A call may be off by 5 % or 100 us, whichever is more.
constexpr double kOff = 0.05;
constexpr double kOffMs = 0.1;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kInTime = false;  // the backend itself is slower than the links below
#else
constexpr bool kInTime = true;
#endif

/// Nothing is faster than the preset, and nothing that may be timed is slower.
void expectNear(double measured, double preset, double off, double slowerIs,
                const std::string& of) {
  EXPECT_GE((measured - preset) * slowerIs, -off) << of;
  if (kInTime) {
    EXPECT_NEAR(measured, preset, off) << of;
  }
}

/// From the first call of some operations to the end of the last, CLOCK_MONOTONIC. The end is taken
/// where the Work ends: what waking a waiter costs is the processor's matter, not the link's.
struct Span {
  std::int64_t startNs = 0;
  std::int64_t endNs = 0;
};

/// Makes allreduces that are under way at once.
Span allreduces(ProcessGroup& group, std::int64_t bytes, int calls = 1) {
  std::vector<at::Tensor> tensors;
  for (int call = 0; call < calls; ++call) {
    tensors.push_back(at::zeros({bytes / 4}));
  }
  Span span{base::monotonicNs(), 0};
  std::vector<base::Future<std::int64_t>> ends;
  for (const at::Tensor& tensor : tensors) {
    ends.push_back(
        group.allreduce({tensor})->future().then([](const auto&) { return base::monotonicNs(); }));
  }
  for (const auto& end : ends) {
    if (!end.waitFor(std::chrono::seconds(30))) {
      throw std::runtime_error("an allreduce did not end");
    }
    span.endNs = std::max(span.endNs, end.value());
  }
  return span;
}

/// Returns milliseconds from the last rank's start to the last rank's end, the best of up to
/// `rounds` or the first that is good enough: what the link does when nothing else holds the
/// processor.
double bestOf(int rounds, double goodEnough, ProcessGroup& inner,
              const std::function<Span()>& measure) {
  double best = INFINITY;
  for (int round = 0; round < rounds && best > goodEnough; ++round) {
    inner.barrier()->wait();
    const Span mine = measure();
    const at::Tensor latest = at::tensor({mine.startNs, mine.endNs}, at::kLong);
    inner.allreduce({latest}, ReduceOp::kMax)->wait();
    best = std::min(best, static_cast<double>((latest[1] - latest[0]).item<std::int64_t>()) * 1e-6);
  }
  return best;
}

void record(const ProcessGroup& group, const std::string& key, const std::string& line) {
  if (group.rank() == 0) {
    testing::Test::RecordProperty("line_" + key, line);
  }
}

/// Sizes of 2^first to 2^last bytes over a link that takes longer for the smallest of them than
/// the backend does.
void expectLink(double gbps, int first, int last) {
  cost::LinkOptions link = linkOf(gbps, kHopMs * 1000);
  link.inFlight = 0;  // so that calls follow each other without a gap
  runShaped(2, link, [&](ProcessGroup& group, ProcessGroup& inner) {
    for (int power = first; power <= last; power += 2) {
      const std::int64_t bytes = std::int64_t{1} << power;
      const double linkMs = static_cast<double>(bytes) * 8e-6 / gbps;

      // So many that what a call takes besides does not count.
      const int calls = std::max(1, static_cast<int>(50 / linkMs));
      const double full = bestOf(10, (calls * linkMs) * 1.02 + kLatencyMs, inner,
                                 [&] { return allreduces(group, bytes, calls); });
      const double rate = static_cast<double>(calls * bytes) * 8e-6 / (full - kLatencyMs);
      expectNear(rate / gbps, 1, kOff, -1, fmt::format("{} bytes", bytes));

      const int rounds = std::clamp(static_cast<int>(3000 / linkMs), 8, 100);
      const double one = bestOf(rounds, linkMs + kLatencyMs + 0.05, inner,
                                [&] { return allreduces(group, bytes); });
      const double latency = one - linkMs;
      expectNear(latency, kLatencyMs, std::max(kOffMs, kOff * (linkMs + kLatencyMs)), 1,
                 fmt::format("{} bytes", bytes));
      EXPECT_GE(latency, kLatencyMs) << "no call ends before the modelled time";

      record(group, std::to_string(bytes),
             fmt::format("{:>8} bytes: {:7.4f} of {:4.2f} Gbit/s ({:+.1f} %), latency {:.3f} of "
                         "{:.0f} ms ({:+.0f} us)",
                         bytes, rate, gbps, 100 * (rate / gbps - 1), latency, kLatencyMs,
                         1000 * (latency - kLatencyMs)));
    }
  });
}

TEST(ShapedAccuracy, OfSmallMessagesOverASlowLink) {
  expectLink(0.01, 10, 14);
}

TEST(ShapedAccuracy, OfMiddlingMessages) {
  expectLink(0.1, 16, 18);
}

TEST(ShapedAccuracy, OfLargeMessagesOverAFastLink) {
  expectLink(1, 20, 26);
}

TEST(ShapedAccuracy, OfLatencyWithoutALimitOfBandwidth) {
  runShaped(2, linkOf(0, kHopMs * 1000), [](ProcessGroup& group, ProcessGroup& inner) {
    const double plain = bestOf(100, 0, inner, [&] { return allreduces(inner, 1024); });
    const double shaped = bestOf(100, 0, inner, [&] { return allreduces(group, 1024); });
    expectNear(shaped - plain, kLatencyMs, kOffMs, 1, "no limit");
    record(group, "unlimited",
           fmt::format("    1024 bytes, no limit: latency {:.3f} of {:.0f} ms ({:+.0f} us)",
                       shaped - plain, kLatencyMs, 1000 * (shaped - plain - kLatencyMs)));
  });
}

}  // namespace
}  // namespace lockstep::process_group
