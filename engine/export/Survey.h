#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/analysis/RunData.h"
#include "engine/base/Result.h"
#include "engine/export/Selection.h"
#include "engine/trace/RunFile.h"

namespace lockstep::exports {

/// Called now and then, by the thread that exports, with the part of the work that is done, 0..1.
/// Once it returns false the export ends, and leaves no file.
using Progress = std::function<bool(double part)>;

/// Returns the error of an export that its Progress ended.
base::Error interrupted();

/// Tells `progress`, where there is one; false: the export ends here.
bool goesOn(const Progress& progress, double part);

/// What has to be known of a run before the first byte of an export can be written, taken in one
/// pass over its file. What a live run records after that is not exported.
struct Survey {
  std::filesystem::path path;
  trace::RunInfo info;
  std::vector<trace::RankInfo> ranks;
  std::vector<trace::HostState> hosts;
  std::vector<trace::TrackInfo> tracks;
  std::vector<trace::ParametersMessage::Parameter> parameters;
  std::vector<trace::BucketsMessage> layouts;
  base::ClockCalibration clock;

  Selection selection;
  /// Ids of the last rows there were.
  struct Last {
    std::int64_t span = 0, metric = 0, log = 0, problem = 0, fingerprint = 0, gradient = 0;
  };
  Last last;
  std::uint64_t spans = 0;       ///< of those, how many are selected
  std::uint64_t beginTicks = 0;  ///< the first moment of what is selected
  std::uint64_t endTicks = 0;
  std::optional<StepRange> steps;           ///< of a stretch of time: those that reach into it
  std::map<int, std::uint64_t> startupEnd;  ///< of each rank, where iteration 0 is selected
  std::map<std::int32_t, int> rankOf;       ///< by track
  std::map<std::pair<int, std::uint32_t>, std::uint64_t> stepBegins;  ///< by rank and iteration
  std::map<std::uint8_t, std::set<int>> groups;  ///< ranks that took part in each group's calls
  std::set<int> selectedRanks;                   ///< with a lane

  std::optional<analysis::RunData> data;  ///< of the whole run, where it was asked for

  /// The layout that a step used; null: none is known.
  [[nodiscard]] const trace::BucketsMessage* layoutAt(std::uint32_t step) const;
  /// The host of a rank in a run on several; null in a run on one.
  [[nodiscard]] const trace::HostState* hostOf(const trace::RankInfo& rank) const;
  /// As many as the run has, or as anything of it names.
  [[nodiscard]] int rankCount() const;
  /// Whether a row of this iteration is selected.
  [[nodiscard]] bool holds(std::uint32_t step) const {
    return selection.steps ? selection.steps->holds(step)
                           : selection.all() || (steps && steps->holds(step));
  }
  /// Whether what a rank recorded up to `until` as of iteration 0 belongs to none of those
  /// selected: what a rank does before its first iteration carries the number 0 too.
  [[nodiscard]] bool isStartup(int rank, std::uint32_t step, std::uint64_t until) const {
    const auto end = step == 0 ? startupEnd.find(rank) : startupEnd.end();
    return end != startupEnd.end() && until <= end->second;
  }
  [[nodiscard]] bool holds(const trace::SpanRow& span) const;
  [[nodiscard]] bool holds(const trace::MetricRow& metric) const {
    return selection.holdsRank(metric.rank) &&
           (selection.steps ? selection.steps->holds(metric.step) &&
                                  !isStartup(metric.rank, metric.step, metric.ticks)
                            : holdsMoment(metric.ticks));
  }
  /// Whether what was said at that moment is selected.
  [[nodiscard]] bool holdsMoment(std::uint64_t ticks) const {
    return selection.all() || (beginTicks <= ticks && ticks <= endTicks);
  }
  [[nodiscard]] std::string backend() const;
};

/// Spans that are held at once: enough that most runs come in one block.
inline constexpr std::size_t kBlockSpans = 500'000;

/// The part of an export's progress that its survey is.
inline constexpr double kSurveyPart = 0.3;

enum class Depth { kNames, kAnalysis };

/// Surveys a run file, live or finished: kSurveyPart of the progress.
/// Errors: a file that cannot be read, a selection that holds nothing.
base::Result<Survey> survey(const std::filesystem::path& run, const Selection& selection,
                            Depth depth, const Progress& progress);

}  // namespace lockstep::exports
