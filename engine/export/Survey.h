#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/analysis/RunData.h"
#include "engine/base/Result.h"
#include "engine/export/Selection.h"
#include "engine/trace/RunFile.h"

namespace lockstep::exports {

/// Is told now and then which part of the work is done, 0..1; an export ends early, and leaves
/// nothing behind, once it returns false. Called by the thread that exports.
using Progress = std::function<bool(double part)>;

/// Returns the error of an export that its Progress ended.
base::Error interrupted();

/// What has to be known of a run before the first byte of an export can be written, taken in one
/// pass over its file. What a live run records after that is not exported.
struct Survey {
  std::filesystem::path path;
  trace::RunInfo info;
  std::vector<trace::RankInfo> ranks;
  std::vector<trace::TrackInfo> tracks;
  std::vector<trace::ParametersMessage::Parameter> parameters;
  std::vector<trace::BucketsMessage> layouts;
  base::ClockCalibration clock;

  Selection selection;
  std::int64_t lastSpan = 0;     ///< id of the last span there was
  std::uint64_t spans = 0;       ///< of those, how many are selected
  std::uint64_t beginTicks = 0;  ///< the first moment of what is selected
  std::uint64_t endTicks = 0;
  std::optional<StepRange> steps;  ///< that have an end and are selected, or reach into the stretch
  std::map<std::uint8_t, std::set<int>> groups;  ///< ranks that took part in each group's calls
  std::set<int> selectedRanks;                   ///< with a lane

  std::optional<analysis::RunData> data;  ///< of the whole run, where it was asked for

  /// The layout that a step used; null: none is known.
  [[nodiscard]] const trace::BucketsMessage* layoutAt(std::uint32_t step) const;
  /// Whether a number that was taken at that moment is selected.
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

/// Calls `take` with the selected rows of a surveyed run, block by block, in the order of the file.
/// `take` may change what it gets. `progress` goes from kSurveyPart to 1.
base::Status eachBlock(const Survey& survey, const Progress& progress,
                       const std::function<base::Status(trace::RunUpdate&)>& take,
                       std::size_t blockSpans = kBlockSpans);

}  // namespace lockstep::exports
