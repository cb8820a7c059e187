#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/base/Result.h"
#include "engine/run/Grown.h"
#include "engine/run/Spans.h"
#include "engine/trace/ClockDoubt.h"
#include "engine/trace/RunFile.h"

namespace lockstep::analysis {

/// By TrackInfo::id.
using RankOfTrack = std::unordered_map<std::int32_t, int>;

/// The part of a run that the analysis looks at. A copy costs little and stays as it is, for
/// another thread to read, while the run that it was made of grows (run::Grown).
struct RunData {
  /// Takes what is new; of spans those that are analysed.
  void take(const trace::RunUpdate& update);
  /// The same without spans, for those who keep them in another way.
  void takeTables(const trace::RunUpdate& update);

  /// Spans of tracks that are not in it are nobody's.
  [[nodiscard]] RankOfTrack rankOfTrack() const;
  /// Calls `take` with the rank and the span, for all that are somebody's and of a kind that is
  /// `wanted`, from step `first` on.
  template <typename Wanted, typename Take>
  void eachSpanOf(const Wanted& wanted, std::uint32_t first, const Take& take) const {
    const RankOfTrack rankOf = rankOfTrack();
    auto at = rankOf.end();  // of the track of the span before: the next is likely of it too
    spans.eachOf(wanted, first, [&](const trace::SpanRow& span) {
      if (at == rankOf.end() || at->first != span.track) {
        at = rankOf.find(span.track);
      }
      if (at != rankOf.end() && span.step >= first) {
        take(at->second, span);
      }
    });
  }
  /// The same of all.
  template <typename Take>
  void eachSpan(const Take& take) const {
    eachSpanOf([](trace::EventKind) { return true; }, 0, take);
  }
  /// The steps of which some rank's are not all there, or are there since they are unlike the rest.
  [[nodiscard]] std::set<std::uint32_t> stepsNotWhole() const;
  /// The last step that any rank ended; 0: none has.
  [[nodiscard]] std::uint32_t lastStep() const;

  std::vector<trace::TrackInfo> tracks;
  run::Spans spans;  ///< in any order; kinds of no interest may be missing
  std::vector<trace::BucketsMessage> layouts;
  base::ClockCalibration clock;
  trace::ClockDoubt doubt;  ///< among ranks on several hosts

  // For the comparison of replicas (Divergence.h), in the order of the file.
  std::vector<trace::ParametersMessage::Parameter> parameters;
  run::Grown<trace::FingerprintRow> fingerprints;
  run::Grown<trace::SketchRow> sketches;
  run::Grown<trace::GradientRow> gradients;
  run::Grown<trace::MetricRow> losses;

  run::Grown<trace::StepSumsRow> sums;  ///< of a run of which detail was left out

  /// Parts of a core, one value after the other.
  struct Percents {
    double percent = 0;  ///< the sum
    double values = 0;   ///< how many
  };
  void addStolen(int rank, double percent);
  std::map<int, Percents> stolen;  ///< what a hypervisor took, by rank: "stolen_percent"
  std::map<int, Percents> busy;    ///< from step 2 on, by rank: "cpu_percent"
};

/// Reads what a run file holds now, and keeps only what is analysed.
base::Result<RunData> readRunData(const std::filesystem::path& path);

}  // namespace lockstep::analysis
