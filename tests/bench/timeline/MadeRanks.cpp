#include "tests/bench/timeline/MadeRanks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/ReadNumber.h"
#include "engine/trace/Event.h"
#include "tests/bench/timeline/MadeFile.h"

namespace lockstep::bench {
namespace {

using trace::EventKind;

constexpr int kWeights = 12;
constexpr int kCalls = 4;
constexpr int kWeightsACall = kWeights / kCalls;
constexpr std::int64_t kWeightBytes = 1024 * 1024;
constexpr std::int64_t kClockDoubtNs = 2'000;

constexpr double kDataUs = 300;
constexpr double kForwardUs = 2'500;
constexpr double kGradientUs = 400;
constexpr double kTransferUs = 600;
constexpr double kCopyOutUs = 15;
constexpr double kOptimizerUs = 500;

/// Where a rank stands in the step that goes on.
struct RankState {
  Noise noise;
  std::uint64_t start = MadeFile::kOrigin;  // of the step
  std::uint64_t backward = 0;
  std::array<std::uint64_t, kCalls> ready{};
  std::array<std::uint64_t, kCalls> begin{};  // of the collective: the rank has come
  std::array<std::uint64_t, kCalls> done{};
  // What is planted, in us a step.
  double slow = 0;
  double link = 0;
  double strike = 0;
  std::uint32_t every = 1;
};

class RanksWriter {
 public:
  RanksWriter(trace::RunFileWriter& writer, const MadeRanksOptions& options)
      : file_(writer), options_(options) {
    for (int rank = 0; rank < options.ranks; ++rank) {
      ranks_.push_back({Noise(options.seed * 1'000'003 + static_cast<std::uint64_t>(rank))});
      ranks_.back().noise.next();  // the first ones of neighbouring seeds are alike
    }
    for (const PlantedRank& plant : options.planted) {
      if (plant.kind != PlantedRank::Kind::kSlowHost) {
        place(plant, plant.rank);
        continue;
      }
      for (int rank = 0; rank < options.ranks; ++rank) {
        if (hostOf(rank) == plant.rank) {
          place(plant, rank);
        }
      }
    }
  }

  base::Result<std::uint64_t> write() {
    describe();
    for (std::uint32_t step = 0; step < options_.steps; ++step) {
      for (int rank = 0; rank < options_.ranks; ++rank) {
        beginStep(rank, step);
      }
      reduce();
      for (int rank = 0; rank < options_.ranks; ++rank) {
        endStep(rank, step);
        if (base::Status done = file_.commitSome(); !done.ok()) {
          return done.error();
        }
      }
    }
    return file_.finish();
  }

 private:
  [[nodiscard]] int hostOf(int rank) const { return rank / options_.ranksAHost; }
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  RankState& state(int rank) { return ranks_[at(rank)]; }

  void place(const PlantedRank& plant, int rank) {
    if (rank < 0 || rank >= options_.ranks) {
      return;
    }
    RankState& of = state(rank);
    switch (plant.kind) {
      case PlantedRank::Kind::kSlow:
      case PlantedRank::Kind::kSlowHost:
        of.slow += 1000 * plant.ms;
        break;
      case PlantedRank::Kind::kLink:
        of.link += 1000 * plant.ms;
        break;
      case PlantedRank::Kind::kPeriodic:
        of.strike += 1000 * plant.ms;
        of.every = plant.every;
        break;
    }
  }

  void describe() {
    file_.begin(fmt::format("made run of {} ranks", options_.ranks), options_.ranks);
    for (int host = 0; host <= hostOf(options_.ranks - 1); ++host) {
      file_.writer().addHost({host, fmt::format("node{}", host), "", "tsc"});
      if (host > 0) {
        file_.writer().addClock(host, {MadeFile::kOrigin, 0, 1 / MadeFile::kTicksPerNs},
                                {0, kClockDoubtNs});
      }
    }
    for (int rank = 0; rank < options_.ranks; ++rank) {
      file_.addRank(rank, hostOf(rank));
    }
    file_.setParameters(kWeights, kWeightBytes, {512, 512});
    trace::BucketsMessage layout;
    layout.layout = 1;
    layout.reason = "rebuild";
    layout.buckets.resize(kCalls);
    for (std::uint32_t i = 0; i < kWeights; ++i) {
      trace::BucketsMessage::Bucket& bucket = layout.buckets[i / kWeightsACall];
      bucket.parameters.push_back(i);
      bucket.offsets.push_back(bucket.bytes);
      bucket.bytes += kWeightBytes;
      bucket.dtype = "float32";
    }
    file_.writer().addLayout(layout);
  }

  std::uint64_t jittered(RankState& of, double us) const {
    return ticksOf(us * (1 + options_.jitter * (2 * of.noise.next() - 1)));
  }

  /// What the rank does until its last bucket is ready.
  void beginStep(int rank, std::uint32_t step) {
    RankState& of = state(rank);
    const int track = MadeFile::stepTrack(rank);
    std::uint64_t t = of.start;
    const auto span = [&](EventKind kind, double us) {
      const std::uint64_t end = t + jittered(of, us);
      file_.put(track, kind, t, end, step);
      t = end;
    };
    span(EventKind::kData, kDataUs);
    const bool strikes = step > 0 && step % of.every == 0;
    span(EventKind::kForward, kForwardUs + (strikes ? of.strike : 0));
    of.backward = t;
    for (int i = 0; i < kWeights; ++i) {
      t += jittered(of, kGradientUs + of.slow / kWeights);
      const int bucket = i / kWeightsACall;
      file_.put(track, EventKind::kGradientReady, t, t, step, bucket, at(i));
      if (i % kWeightsACall == kWeightsACall - 1) {
        file_.put(track, EventKind::kBucketReady, t, t, step, bucket);
        file_.put(track, EventKind::kBucketLaunched, t, t, step, bucket);
        of.ready[at(bucket)] = t;
      }
    }
  }

  /// When the collectives of a step begin and end on each rank: one after the other, and none moves
  /// data before the last rank has come.
  void reduce() {
    for (int bucket = 0; bucket < kCalls; ++bucket) {
      std::uint64_t there = 0;
      for (RankState& of : ranks_) {
        of.begin[at(bucket)] = std::max(of.ready[at(bucket)] + ticksOf(5),
                                        bucket == 0 ? 0 : of.done[at(bucket - 1)] + ticksOf(2));
        there = std::max(there, of.begin[at(bucket)]);
      }
      for (RankState& of : ranks_) {
        of.done[at(bucket)] = there + jittered(of, kTransferUs + of.link / kCalls);
      }
    }
  }

  /// Its collectives, and what comes after them.
  void endStep(int rank, std::uint32_t step) {
    RankState& of = state(rank);
    const int track = MadeFile::stepTrack(rank);
    const std::uint16_t operation = trace::packOperation(trace::Operation::kAllreduce);
    std::uint64_t t = of.ready[at(kCalls - 1)] + ticksOf(20);
    const std::uint64_t finalize = t;
    for (int bucket = 0; bucket < kCalls; ++bucket) {
      const std::uint64_t value = trace::packCollective(
          std::uint64_t{step} * kCalls + at(bucket) + 1, kWeightsACall * kWeightBytes);
      const std::uint64_t ready = of.ready[at(bucket)];
      file_.put(track + 1, EventKind::kCollectiveQueued, ready + 1, ready + 1, step, bucket, value,
                operation);
      file_.put(track + 1, EventKind::kCollective, of.begin[at(bucket)], of.done[at(bucket)], step,
                bucket, value, operation);
      const std::uint64_t waited = std::max(t, of.done[at(bucket)] + ticksOf(5));
      file_.put(track, EventKind::kWait, t, waited, step, bucket);
      t = waited + ticksOf(kCopyOutUs);
      file_.put(track, EventKind::kCopyOut, waited, t, step, bucket, kWeightsACall * kWeightBytes);
    }
    file_.put(track, EventKind::kFinalize, finalize, t, step);
    file_.put(track, EventKind::kBackward, of.backward, t, step);
    const std::uint64_t end = t + jittered(of, kOptimizerUs);
    file_.put(track, EventKind::kOptimizer, t, end, step);
    file_.put(track, EventKind::kStep, of.start, end, step);
    of.start = end + ticksOf(50);
  }

  MadeFile file_;
  MadeRanksOptions options_;
  std::vector<RankState> ranks_;
};

}  // namespace

base::Result<PlantedRank> plantedFrom(PlantedRank::Kind kind, std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    const std::size_t colon = rest.find(':');
    parts.push_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(colon + 1);
  }
  const bool periodic = kind == PlantedRank::Kind::kPeriodic;
  PlantedRank plant{kind};
  if (parts.size() == (periodic ? 3u : 2u)) {
    const auto rank = base::readNumber<int>(parts[0]);
    const auto ms = base::readNumber<double>(parts[1]);
    const auto every =
        periodic ? base::readNumber<std::uint32_t>(parts[2]) : std::optional<std::uint32_t>(1);
    if (rank && *rank >= 0 && ms && *ms >= 0 && every && *every > 0) {
      plant.rank = *rank;
      plant.ms = *ms;
      plant.every = *every;
      return plant;
    }
  }
  return base::Error{
      base::ExitCode::kBadInput,
      fmt::format("\"{}\" is not {}", text,
                  periodic ? "RANK:MS:STEPS, as in 41:20:10" : "RANK:MS, as in 700:12"),
      ""};
}

base::Result<std::uint64_t> writeMadeRanks(trace::RunFileWriter& file,
                                           const MadeRanksOptions& options) {
  return RanksWriter(file, options).write();
}

base::Result<std::uint64_t> writeMadeRanks(const std::filesystem::path& path,
                                           const MadeRanksOptions& options) {
  auto created = trace::RunFileWriter::create(path);
  if (!created.ok()) {
    return created.error();
  }
  return writeMadeRanks(*created.value(), options);
}

}  // namespace lockstep::bench
