#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"

namespace lockstep::bench {

/// Small differences that look like noise and are the same every time.
class Noise {
 public:
  explicit Noise(std::uint64_t seed = 7) : state_(seed) {}

  /// From 0 to 1.
  double next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11) / 9007199254740992.0;
  }

 private:
  std::uint64_t state_;
};

/// The run file of a made run, whatever is made up of it: each rank has a track for its step thread
/// and, after it, one for its communication.
class MadeFile {
 public:
  static constexpr std::uint64_t kOrigin = 1'000'000'000'000;
  static constexpr double kTicksPerNs = 2.5;
  static constexpr int stepTrack(int rank) { return 2 * rank + 1; }

  explicit MadeFile(trace::RunFileWriter& writer) : writer_(writer) {}

  /// The writer, for what is not said here.
  [[nodiscard]] trace::RunFileWriter& writer() { return writer_; }
  [[nodiscard]] std::uint64_t spans() const { return spans_; }

  void begin(const std::string& name, int ranks);
  void addRank(int rank, int host = trace::kRecordingHost);
  /// So many, called layer0.weight and so on.
  void setParameters(int count, std::int64_t bytes, const std::vector<std::int64_t>& shape);
  /// A span; without a bucket where that is below 0.
  void put(int track, trace::EventKind kind, std::uint64_t start, std::uint64_t end,
           std::uint32_t step, int bucket = -1, std::uint64_t value = 0, std::uint16_t detail = 0);
  /// Commits once many spans have been put since the last time.
  base::Status commitSome();
  /// Returns how many spans were put.
  base::Result<std::uint64_t> finish();

 private:
  trace::RunFileWriter& writer_;
  trace::RunInfo info_;
  std::uint64_t spans_ = 0;
  std::uint64_t committed_ = 0;
};

constexpr std::uint64_t ticksOf(double us) {
  return static_cast<std::uint64_t>(us * 1000 * MadeFile::kTicksPerNs);
}

}  // namespace lockstep::bench
