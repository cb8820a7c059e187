#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/BucketLife.h"
#include "engine/analysis/GrowingAnalysis.h"
#include "engine/base/Result.h"
#include "engine/diagnosis/Diagnose.h"
#include "engine/launch/Supervisor.h"
#include "engine/trace/RunFile.h"

namespace lockstep::cli {

/// How far one bucket of a step has come on one rank.
struct BucketProgress {
  std::uint16_t bucket = 0;
  std::uint64_t bytes = 0;
  std::size_t parameters = 0;
  std::size_t ready = 0;  ///< of these, with a gradient
  analysis::BucketStage stage{};
  bool operator==(const BucketProgress&) const = default;
};

/// What `lockstep follow` shows of a run at one moment.
struct FollowedState {
  trace::RunInfo info;
  std::vector<trace::RankInfo> ranks;
  std::vector<trace::HostState> hosts;
  launch::LaunchProgress progress;  ///< as the one of the command that runs it
  analysis::RunAnalysis analysis;
  diagnosis::Diagnosis diagnosis;
  int bucketRank = 0;               ///< whose buckets they are
  std::uint32_t bucketStep = 0;     ///< its latest with a gradient
  std::vector<BucketProgress> buckets;
  std::vector<trace::ProblemRow> problems;
};

/// A run that is read while it goes on. One thread.
class FollowedRun {
 public:
  /// Errors: those of RunFileReader::open, here and below.
  static base::Result<FollowedRun> open(const std::filesystem::path& path);

  /// Reads what is new and says what it comes to; returns whether more may come.
  base::Result<bool> refresh();
  [[nodiscard]] const FollowedState& state() const { return state_; }

 private:
  using Clock = std::chrono::steady_clock;

  explicit FollowedRun(std::unique_ptr<trace::RunFileReader> reader);
  void take(trace::RunUpdate& update);
  void takeMetric(const trace::MetricRow& metric);
  void tellProgress();
  void diagnose();
  void tellBuckets();

  std::unique_ptr<trace::RunFileReader> reader_;
  analysis::RunData data_;
  analysis::GrowingAnalysis growing_;
  diagnosis::GrowingEvidence evidence_;
  FollowedState state_;
  std::optional<std::uint64_t> firstTicks_;  // of any span
  std::uint64_t lastTicks_ = 0;
  std::uint32_t steps_ = 0;  // that any rank ended
  bool sawEnd_ = false;
  Clock::time_point nextDiagnosis_{};
};

}  // namespace lockstep::cli
