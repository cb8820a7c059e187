#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/base/ExitCodes.h"
#include "engine/trace/Event.h"
#include "engine/trace/Messages.h"
#include "engine/trace/Tracer.h"

// bench_emit: a rank that trains nothing and emits the events of a training step over and over,
// each when its time has come, on the lanes that a real rank has. `lockstep run` starts it where
// LOCKSTEP_RANK names it. Its environment says what it does:
//
//   EMIT_EVENTS_PER_S  events a second of this rank, default 12500
//   EMIT_SECONDS       how long, default 10
//   EMIT_WAKE_MS       how often it looks whether the time of some has come, default 2
//   EMIT_START_NS      CLOCK_MONOTONIC at which all ranks begin, default now
//
// An event carries the time that the schedule has for it, not the later one at which the process
// got round to emitting it: a delay of the generator counts as a delay of what is measured.
namespace {

using namespace lockstep;
using trace::EventKind;

constexpr std::uint32_t kBuckets = 6;
constexpr std::uint32_t kParameters = 32;
constexpr std::uint64_t kParameterBytes = 256 * 1024;
constexpr int kSkewed = 8;              // ranks of a group, of which each arrives ...
constexpr double kSkewOfARank = 0.002;  // ... that part of a step after the one before it

volatile sig_atomic_t stopAsked = 0;

/// One event of a step; times are parts of the step.
struct Scheduled {
  enum class On { kStep, kLink, kHook } lane = On::kStep;
  EventKind kind{};
  double start = 0;
  double end = 0;
  std::uint16_t bucket = trace::kNoBucket;
  std::uint64_t value = 0;
};

std::uint16_t bucketOf(std::uint32_t parameter) {
  return static_cast<std::uint16_t>(parameter * kBuckets / kParameters);
}

std::vector<Scheduled> stepOf(int rank) {
  using On = Scheduled::On;
  std::vector<Scheduled> step;
  const auto add = [&](On lane, EventKind kind, double start, double end,
                       std::uint16_t bucket = trace::kNoBucket, std::uint64_t value = 0) {
    const double late = kSkewOfARank * (rank % kSkewed);
    step.push_back({lane, kind, start + late, end + late, bucket, value});
  };
  add(On::kStep, EventKind::kData, 0.00, 0.04);
  add(On::kStep, EventKind::kForward, 0.04, 0.30);
  const auto readyAt = [](std::uint32_t parameter) { return 0.30 + 0.014 * (parameter + 1); };
  double linkFree = 0;
  double waited = readyAt(kParameters - 1) + 0.002;
  for (std::uint32_t p = 0; p < kParameters; ++p) {
    const std::uint16_t bucket = bucketOf(p);
    const double ready = readyAt(p);
    add(On::kStep, EventKind::kGradientReady, ready, ready, bucket, p);
    add(On::kStep, EventKind::kCopyIn, ready, ready + 0.002, bucket, p);
    if (p + 1 < kParameters && bucketOf(p + 1) == bucket) {
      continue;
    }
    const double launched = ready + 0.003;
    const double begin = std::max(launched + 0.002, linkFree);
    const double done = linkFree = begin + 0.06;
    const std::uint64_t bytes = kParameterBytes * kParameters / kBuckets;
    add(On::kStep, EventKind::kBucketReady, launched, launched, bucket, bytes);
    add(On::kStep, EventKind::kBucketLaunched, launched, launched, bucket, bytes);
    add(On::kLink, EventKind::kCollectiveQueued, launched, launched, bucket, bytes);
    add(On::kLink, EventKind::kCollective, begin, done, bucket, bytes);
    add(On::kHook, EventKind::kHookEncode, launched, launched + 0.001, bucket, bytes);
    add(On::kHook, EventKind::kHookCommunicate, launched + 0.001, done, bucket, bytes);
    add(On::kHook, EventKind::kHookDecode, done, done + 0.001, bucket, bytes);
    const double over = std::max(waited, done + 0.001);
    add(On::kStep, EventKind::kWait, waited, over, bucket);
    waited = over + 0.002;
    add(On::kStep, EventKind::kCopyOut, over, waited, bucket, bytes);
  }
  add(On::kStep, EventKind::kFinalize, readyAt(kParameters - 1) + 0.002, waited);
  add(On::kStep, EventKind::kBackward, 0.30, waited);
  add(On::kStep, EventKind::kLoss, waited, waited);
  add(On::kStep, EventKind::kOptimizer, waited, waited + 0.05);
  add(On::kStep, EventKind::kStep, 0.00, waited + 0.05);
  // A thread emits its spans as they end.
  std::stable_sort(step.begin(), step.end(),
                   [](const Scheduled& a, const Scheduled& b) { return a.end < b.end; });
  return step;
}

double number(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtod(text, nullptr);
}

void sleepUntil(std::int64_t ns) {
  const timespec until{static_cast<time_t>(ns / 1'000'000'000),
                       static_cast<long>(ns % 1'000'000'000)};
  while (stopAsked == 0 &&
         clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

void describe(trace::Tracer& tracer) {
  trace::ParametersMessage parameters;
  trace::BucketsMessage buckets;
  buckets.reason = "made";
  buckets.buckets.resize(kBuckets);
  for (std::uint32_t p = 0; p < kParameters; ++p) {
    trace::ParametersMessage::Parameter parameter;
    parameter.name = fmt::format("layer{}.weight", p);
    parameter.shape = {256, 256};
    parameter.dtype = "float32";
    parameter.numel = kParameterBytes / 4;
    parameter.bytes = kParameterBytes;
    parameters.parameters.push_back(parameter);
    auto& bucket = buckets.buckets[bucketOf(p)];
    bucket.parameters.push_back(p);
    bucket.offsets.push_back(bucket.bytes);
    bucket.bytes += kParameterBytes;
    bucket.dtype = "float32";
  }
  tracer.send(trace::toJson(parameters));
  tracer.send(trace::toJson(buckets));
}

int emit(trace::Tracer& tracer, int rank) {
  const std::vector<Scheduled> step = stepOf(rank);
  const double rate = number("EMIT_EVENTS_PER_S", 12'500);
  const double seconds = number("EMIT_SECONDS", 10);
  if (rate < 1 || seconds <= 0) {
    std::cerr << "bench_emit: EMIT_EVENTS_PER_S and EMIT_SECONDS have to be positive\n";
    return static_cast<int>(base::ExitCode::kBadInput);
  }
  const double stepNs = 1e9 * static_cast<double>(step.size()) / rate;
  const auto steps = static_cast<std::uint32_t>(seconds * 1e9 / stepNs);
  trace::Lane* lanes[] = {&tracer.lane("step"), &tracer.lane("gloo 0"), &tracer.lane("hook")};
  describe(tracer);

  const base::ClockReading before = base::readClock();
  sleepUntil(before.ns + 100'000'000);
  const base::ClockCalibration clock = base::calibrate(before, base::readClock());
  const auto startNs =
      static_cast<std::int64_t>(number("EMIT_START_NS", static_cast<double>(base::monotonicNs())));
  const auto ticksAt = [&](double ns) {
    const double delta = static_cast<double>(startNs - clock.originNs) + ns;
    return clock.originTicks + static_cast<std::uint64_t>(delta / clock.nsPerTick);
  };

  tracer.lastWords().phase.store(static_cast<std::uint16_t>(EventKind::kStep));
  const auto wakeEveryNs = static_cast<std::int64_t>(1e6 * number("EMIT_WAKE_MS", 2));
  std::int64_t wakeNs = startNs;
  std::uint32_t done = 0;
  std::size_t at = 0;
  while (done < steps && stopAsked == 0) {
    sleepUntil(wakeNs += wakeEveryNs);
    const auto now = static_cast<double>(base::monotonicNs() - startNs);
    while (done < steps && (done + step[at].end) * stepNs <= now) {
      const Scheduled& event = step[at];
      const bool collective =
          event.kind == EventKind::kCollective || event.kind == EventKind::kCollectiveQueued;
      const std::uint64_t value =
          collective ? trace::packCollective(done * kBuckets + event.bucket, event.value)
                     : event.value;
      lanes[static_cast<int>(event.lane)]->spanUntil(
          event.kind, ticksAt((done + event.start) * stepNs), ticksAt((done + event.end) * stepNs),
          done, event.bucket, value,
          collective ? trace::packOperation(trace::Operation::kAllreduce) : std::uint16_t{0});
      at = (at + 1) % step.size();
      done += at == 0 ? 1 : 0;
    }
  }
  tracer.send(trace::toJson(trace::SummaryMessage{done, 0, ""}));
  return stopAsked != 0 ? static_cast<int>(base::ExitCode::kInterrupted) : 0;
}

}  // namespace

int main() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  struct sigaction onTerm {};
  onTerm.sa_handler = [](int) { stopAsked = 1; };
  sigaction(SIGTERM, &onTerm, nullptr);
  const char* fd = std::getenv("LOCKSTEP_TRACE_FD");
  auto segment = trace::Segment::attach(fd == nullptr ? -1 : std::atoi(fd));
  if (!segment.ok()) {
    std::cerr << "bench_emit: " << segment.error().message()
              << "; it is started by lockstep run, with LOCKSTEP_RANK\n";
    return static_cast<int>(base::ExitCode::kEnvironment);
  }
  trace::Tracer tracer(std::move(segment).value());
  const int code = emit(tracer, static_cast<int>(number("RANK", 0)));
  tracer.lastWords().finished.store(code == 0 ? 1 : 0);
  return code;
}
