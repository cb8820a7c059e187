#include "tests/bench/timeline/MadeRun.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "engine/trace/Event.h"
#include "tests/bench/timeline/MadeFile.h"

namespace lockstep::bench {
namespace {

using trace::EventKind;

constexpr int kParameters = 48;
constexpr int kBuckets = 6;
constexpr int kPerBucket = kParameters / kBuckets;
constexpr std::int64_t kParameterBytes = 256 * 1024;

class Writer {
 public:
  Writer(trace::RunFileWriter& writer, const MadeRunOptions& options)
      : file_(writer), options_(options) {}

  base::Result<std::uint64_t> write() {
    file_.begin(fmt::format("made run of {} spans", options_.spans), options_.ranks);
    for (int rank = 0; rank < options_.ranks; ++rank) {
      file_.addRank(rank);
    }
    file_.setParameters(kParameters, kParameterBytes, {256, 256});
    for (std::uint32_t step = 0; file_.spans() < options_.spans; ++step) {
      writeStep(step);
      if (base::Status done = file_.commitSome(); !done.ok()) {
        return done.error();
      }
    }
    return file_.finish();
  }

 private:
  void writeStep(std::uint32_t step) {
    const std::uint64_t start = now_;
    std::array<std::uint64_t, kBuckets> lastReady{};
    std::vector<std::array<std::uint64_t, kBuckets>> ready(
        static_cast<std::size_t>(options_.ranks));
    std::vector<std::uint64_t> backward(static_cast<std::size_t>(options_.ranks));
    for (int rank = 0; rank < options_.ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const int track = MadeFile::stepTrack(rank);
      const double slow = rank == static_cast<int>(step % 3) ? 1.15 : 1;
      std::uint64_t t = start;
      const auto span = [&](EventKind kind, double us) {
        const std::uint64_t end = t + ticksOf(us * slow * (0.9 + 0.2 * noise_.next()));
        file_.put(track, kind, t, end, step);
        t = end;
      };
      span(EventKind::kData, 400);
      span(EventKind::kForward, 3000);
      backward[at] = t;
      for (int i = 0; i < kParameters; ++i) {
        t += ticksOf(120 * slow * (0.8 + 0.4 * noise_.next()));
        const int bucket = i / kPerBucket;
        file_.put(track, EventKind::kGradientReady, t, t, step, bucket,
                  static_cast<std::uint64_t>(i));
        file_.put(track, EventKind::kCopyIn, t + ticksOf(1), t + ticksOf(9), step, bucket,
                  static_cast<std::uint64_t>(i));
        t += ticksOf(10);
        if (i % kPerBucket == kPerBucket - 1) {
          const auto b = static_cast<std::size_t>(bucket);
          file_.put(track, EventKind::kBucketReady, t, t, step, bucket);
          file_.put(track, EventKind::kBucketLaunched, t, t, step, bucket);
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
    const int track = MadeFile::stepTrack(rank);
    const std::uint16_t operation = trace::packOperation(trace::Operation::kAllreduce);
    std::uint64_t t = ready[at][kBuckets - 1] + ticksOf(20);
    const std::uint64_t finalize = t;
    for (std::size_t b = 0; b < kBuckets; ++b) {
      const auto bucket = static_cast<int>(b);
      const std::uint64_t value =
          trace::packCollective(sequence_ + b, kPerBucket * kParameterBytes);
      const std::uint64_t begin =
          std::max(ready[at][b] + ticksOf(8), b > 0 ? done[b - 1] + ticksOf(2) : 0);
      file_.put(track + 1, EventKind::kCollectiveQueued, ready[at][b] + 1, ready[at][b] + 1, step,
                bucket, value, operation);
      file_.put(track + 1, EventKind::kCollective, begin, std::max(done[b], begin + 10), step,
                bucket, value, operation);
      file_.put(track + 1, EventKind::kHookEncode, ready[at][b], ready[at][b] + ticksOf(6), step,
                bucket);
      file_.put(track + 1, EventKind::kHookCommunicate, ready[at][b] + ticksOf(6),
                done[b] + ticksOf(1), step, bucket);
      file_.put(track + 1, EventKind::kHookDecode, done[b] + ticksOf(1), done[b] + ticksOf(4), step,
                bucket);
      const std::uint64_t waited = std::max(t, done[b] + ticksOf(5));
      file_.put(track, EventKind::kWait, t, waited, step, bucket);
      t = waited + ticksOf(15);
      file_.put(track, EventKind::kCopyOut, waited, t, step, bucket, kPerBucket * kParameterBytes);
    }
    file_.put(track, EventKind::kFinalize, finalize, t, step);
    file_.put(track, EventKind::kBackward, backward[at], t, step);
    const std::uint64_t end = t + ticksOf(600 * (0.9 + 0.2 * noise_.next()));
    file_.put(track, EventKind::kOptimizer, t, end, step);
    file_.put(track, EventKind::kStep, start, end, step);
    return end;
  }

  MadeFile file_;
  MadeRunOptions options_;
  Noise noise_;
  std::uint64_t now_ = MadeFile::kOrigin;
  std::uint64_t sequence_ = 0;
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
