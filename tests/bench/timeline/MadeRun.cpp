#include "tests/bench/timeline/MadeRun.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"

namespace lockstep::bench {
namespace {

using trace::EventKind;

constexpr std::uint64_t kOrigin = 1'000'000'000'000;
constexpr double kTicksPerNs = 2.5;
constexpr int kParameters = 48;
constexpr int kBuckets = 6;
constexpr int kPerBucket = kParameters / kBuckets;
constexpr std::int64_t kParameterBytes = 256 * 1024;
constexpr std::uint64_t kSpansACommit = 50'000;

constexpr std::uint64_t ticksOf(double us) {
  return static_cast<std::uint64_t>(us * 1000 * kTicksPerNs);
}

// Small differences that look like noise and are the same every time.
class Noise {
 public:
  // From 0 to 1.
  double next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11) / 9007199254740992.0;
  }

 private:
  std::uint64_t state_ = 7;
};

class Writer {
 public:
  Writer(trace::RunFileWriter& file, const MadeRunOptions& options)
      : file_(file), options_(options) {}

  base::Result<std::uint64_t> write() {
    describe();
    for (std::uint32_t step = 0; spans_ < options_.spans; ++step) {
      writeStep(step);
      if (spans_ - committed_ >= kSpansACommit) {
        committed_ = spans_;
        if (base::Status done = file_.commit(); !done.ok()) {
          return done.error();
        }
      }
    }
    info_.state = trace::RunState::kFinished;
    info_.finishedAt = "2026-01-01T00:10:00Z";
    file_.setInfo(info_);
    if (base::Status done = file_.finish(); !done.ok()) {
      return done.error();
    }
    return spans_;
  }

 private:
  void describe() {
    info_.runId = "made";
    info_.name = fmt::format("made run of {} spans", options_.spans);
    info_.state = trace::RunState::kRunning;
    info_.startedAt = "2026-01-01T00:00:00Z";
    info_.worldSize = options_.ranks;
    file_.setInfo(info_);
    for (int rank = 0; rank < options_.ranks; ++rank) {
      trace::RankInfo facts;
      facts.rank = rank;
      facts.state = "finished";
      file_.setRank(facts);
      file_.addTrack({2 * rank + 1, rank, "step"});
      file_.addTrack({2 * rank + 2, rank, "gloo 0"});
    }
    trace::ParametersMessage parameters;
    for (int i = 0; i < kParameters; ++i) {
      trace::ParametersMessage::Parameter parameter;
      parameter.name = fmt::format("layer{}.weight", i);
      parameter.bytes = kParameterBytes;
      parameter.shape = {256, 256};
      parameters.parameters.push_back(parameter);
    }
    file_.setParameters(parameters);
    file_.addClock({kOrigin, 0, 1 / kTicksPerNs});
  }

  void put(int track, EventKind kind, std::uint64_t start, std::uint64_t end, std::uint32_t step,
           int bucket = -1, std::uint64_t value = 0, std::uint16_t detail = 0) {
    trace::Event event;
    event.startTicks = start;
    event.durationTicks = end - start;
    event.kind = static_cast<std::uint64_t>(kind);
    event.step = step;
    event.bucket = bucket < 0 ? trace::kNoBucket : static_cast<std::uint16_t>(bucket);
    event.detail = detail;
    event.value = value;
    file_.addEvent(track, event);
    ++spans_;
  }

  void writeStep(std::uint32_t step) {
    const std::uint64_t start = now_;
    std::array<std::uint64_t, kBuckets> lastReady{};
    std::vector<std::array<std::uint64_t, kBuckets>> ready(
        static_cast<std::size_t>(options_.ranks));
    std::vector<std::uint64_t> backward(static_cast<std::size_t>(options_.ranks));
    for (int rank = 0; rank < options_.ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const int track = 2 * rank + 1;
      const double slow = rank == static_cast<int>(step % 3) ? 1.15 : 1;
      std::uint64_t t = start;
      const auto span = [&](EventKind kind, double us) {
        const std::uint64_t end = t + ticksOf(us * slow * (0.9 + 0.2 * noise_.next()));
        put(track, kind, t, end, step);
        t = end;
      };
      span(EventKind::kData, 400);
      span(EventKind::kForward, 3000);
      backward[at] = t;
      for (int i = 0; i < kParameters; ++i) {
        t += ticksOf(120 * slow * (0.8 + 0.4 * noise_.next()));
        const int bucket = i / kPerBucket;
        put(track, EventKind::kGradientReady, t, t, step, bucket, static_cast<std::uint64_t>(i));
        put(track, EventKind::kCopyIn, t + ticksOf(1), t + ticksOf(9), step, bucket,
            static_cast<std::uint64_t>(i));
        t += ticksOf(10);
        if (i % kPerBucket == kPerBucket - 1) {
          const auto b = static_cast<std::size_t>(bucket);
          put(track, EventKind::kBucketReady, t, t, step, bucket);
          put(track, EventKind::kBucketLaunched, t, t, step, bucket);
          ready[at][b] = t;
          lastReady[b] = std::max(lastReady[b], t);
        }
      }
      now_ = std::max(now_, t);
    }
    std::array<std::uint64_t, kBuckets> done{};
    std::uint64_t free = 0;
    for (std::size_t b = 0; b < kBuckets; ++b) {
      done[b] = std::max(free, lastReady[b]) + ticksOf(700 * (0.8 + 0.4 * noise_.next()));
      free = done[b];
    }
    std::uint64_t over = 0;
    for (int rank = 0; rank < options_.ranks; ++rank) {
      over = std::max(over, finishRank(rank, step, start, backward, ready, done));
    }
    sequence_ += kBuckets;
    now_ = over + ticksOf(50);
  }

  std::uint64_t finishRank(int rank, std::uint32_t step, std::uint64_t start,
                           const std::vector<std::uint64_t>& backward,
                           const std::vector<std::array<std::uint64_t, kBuckets>>& ready,
                           const std::array<std::uint64_t, kBuckets>& done) {
    const auto at = static_cast<std::size_t>(rank);
    const int track = 2 * rank + 1;
    const std::uint16_t operation = trace::packOperation(trace::Operation::kAllreduce);
    std::uint64_t t = ready[at][kBuckets - 1] + ticksOf(20);
    const std::uint64_t finalize = t;
    for (std::size_t b = 0; b < kBuckets; ++b) {
      const auto bucket = static_cast<int>(b);
      const std::uint64_t value =
          trace::packCollective(sequence_ + b, kPerBucket * kParameterBytes);
      const std::uint64_t begin =
          std::max(ready[at][b] + ticksOf(8), b > 0 ? done[b - 1] + ticksOf(2) : 0);
      put(track + 1, EventKind::kCollectiveQueued, ready[at][b] + 1, ready[at][b] + 1, step, bucket,
          value, operation);
      put(track + 1, EventKind::kCollective, begin, std::max(done[b], begin + 10), step, bucket,
          value, operation);
      put(track + 1, EventKind::kHookEncode, ready[at][b], ready[at][b] + ticksOf(6), step, bucket);
      put(track + 1, EventKind::kHookCommunicate, ready[at][b] + ticksOf(6), done[b] + ticksOf(1),
          step, bucket);
      put(track + 1, EventKind::kHookDecode, done[b] + ticksOf(1), done[b] + ticksOf(4), step,
          bucket);
      const std::uint64_t waited = std::max(t, done[b] + ticksOf(5));
      put(track, EventKind::kWait, t, waited, step, bucket);
      t = waited + ticksOf(15);
      put(track, EventKind::kCopyOut, waited, t, step, bucket, kPerBucket * kParameterBytes);
    }
    put(track, EventKind::kFinalize, finalize, t, step);
    put(track, EventKind::kBackward, backward[at], t, step);
    const std::uint64_t end = t + ticksOf(600 * (0.9 + 0.2 * noise_.next()));
    put(track, EventKind::kOptimizer, t, end, step);
    put(track, EventKind::kStep, start, end, step);
    return end;
  }

  trace::RunFileWriter& file_;
  MadeRunOptions options_;
  trace::RunInfo info_;
  Noise noise_;
  std::uint64_t now_ = kOrigin;
  std::uint64_t sequence_ = 0;
  std::uint64_t spans_ = 0;
  std::uint64_t committed_ = 0;
};

}  // namespace

base::Result<std::uint64_t> writeMadeRun(const std::filesystem::path& path,
                                         const MadeRunOptions& options) {
  auto created = trace::RunFileWriter::create(path);
  if (!created.ok()) {
    return created.error();
  }
  return Writer(*created.value(), options).write();
}

}  // namespace lockstep::bench
