#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ui/model/RunModel.h"
#include "ui/views/timeline/RankLines.h"

namespace lockstep::ui {

/// Sizes of the timeline in logical pixels.
namespace timeline_metrics {
inline constexpr double kLabelWidth = 128;  ///< lane names at the left
inline constexpr double kRulerHeight = 46;  ///< iterations above, times below
inline constexpr double kIterationHeight = 22;
inline constexpr double kRankHeader = 24;
inline constexpr double kLanePadding = 4;
inline constexpr double kRankGap = 8;
inline constexpr double kRowGap = 2;
inline constexpr double kWorldRow = 20;
inline constexpr double kCounterRow = 34;
inline constexpr double kCounterStrip = 15;  ///< the same where room is short
inline constexpr double kWordsFrom = 14;     ///< height of a bar that has words in it
inline constexpr double kLinesRoom = 336;    ///< for the ranks of a run of many, a line each
inline constexpr double kLeastLinesRoom = 120;
inline constexpr double kOutside = 4;  ///< beyond the axis: a bar's edge there is not seen
}  // namespace timeline_metrics

/// How much room rows take, from the most to the least.
enum class Density : std::uint8_t {
  kUsual,
  kStrips,  ///< counters are low strips
  kSnug,    ///< rows with words are no higher than these
  kDense,   ///< of each lane one row is high enough for words
  kTight,   ///< the same, and the others are lower
  kThin,    ///< iterations and phases alone are
};

/// Where World, the lines of many ranks and the lanes of some lie, one below the other; y runs from
/// 0 at the first rank's header and knows nothing of scrolling.
class TimelineLayout {
 public:
  struct Row {
    int row = 0;  ///< of the lane
    double top = 0;
    double height = 0;
    bool shared = false;  ///< with other rows of a folded lane, of which the later ones lie on top
  };
  struct LaneBox {
    int lane = 0;
    double top = 0;
    double height = 0;
    std::vector<Row> rows;
  };
  struct CounterBox {
    std::string name;  ///< as the run file has it
    double top = 0;
    double height = 0;
  };
  struct RankBox {
    int rank = 0;
    bool collapsed = false;
    bool pinned = false;
    double top = 0;     ///< of the header
    double height = 0;  ///< header and lanes
    std::vector<LaneBox> lanes;
    std::vector<CounterBox> counters;  ///< below the lanes
  };
  /// Collectives of one group across ranks; those in flight together have rows of their own.
  struct WorldRow {
    std::uint8_t group = 0;
    int row = 0;  ///< Meeting::row
    double top = 0;
    double height = 0;
  };
  struct WorldBox {
    double top = 0;
    double height = 0;
    std::vector<WorldRow> rows;  ///< empty in a run without collectives of several ranks
  };
  /// An iteration as it is forecast, under World.
  struct ForecastBox {
    double top = 0;
    double height = 0;
    std::vector<Row> rows;  ///< empty: none is
  };
  struct CounterHit {
    int rank = 0;
    CounterBox box;
  };

  struct Options {
    std::optional<TimeRange> within =
        std::nullopt;              ///< leaves no room for rows that are empty in that range
    double scale = 1;              ///< of the height of rows
    std::vector<int> shown = {};   ///< leaves out all others, in this order; empty: all
    std::vector<int> pinned = {};  ///< shown first, whatever else is
    std::vector<int> unlike = {};  ///< of a run of many those that are worth a look
    bool lined = false;            ///< of few ranks, too, lines in place of lanes
    bool listed = false;           ///< lanes of all that are shown, however many they are
    double linesRoom = timeline_metrics::kLinesRoom;
    bool startUp = true;  ///< false: no room for groups that met only before the first iteration
    std::size_t forecastRows = 0;            ///< of an iteration that is forecast; 0: none is
    std::vector<std::string> counters = {};  ///< plotted under each rank that is not collapsed
    Density density = Density::kUsual;
  };

  TimelineLayout() = default;
  /// Collapsed ranks keep a thin strip of their phases and their communication.
  TimelineLayout(const RunModel& model, const std::set<int>& collapsed, const Options& options);
  TimelineLayout(const RunModel& model, const std::set<int>& collapsed)
      : TimelineLayout(model, collapsed, Options()) {}

  /// All ranks together, above them.
  [[nodiscard]] const WorldBox& world() const { return world_; }
  [[nodiscard]] const ForecastBox& forecast() const { return forecast_; }
  /// The ranks of a run of many, above those whose lanes are shown; empty in a run of few.
  [[nodiscard]] const RankLines& lines() const { return lines_; }
  [[nodiscard]] const std::vector<RankBox>& ranks() const { return ranks_; }
  /// Those of them that reach into a stretch; costs a binary search.
  [[nodiscard]] std::span<const RankBox> ranksWithin(double top, double bottom) const;
  /// The lanes of a rank; null where they are not shown.
  [[nodiscard]] const RankBox* boxOf(int rank) const;
  [[nodiscard]] double height() const { return height_; }

  [[nodiscard]] std::optional<int> headerAt(double y) const;
  [[nodiscard]] const LaneBox* laneAt(double y) const;  ///< null: there is none
  [[nodiscard]] std::optional<WorldRow> worldHit(double y) const;
  [[nodiscard]] std::optional<CounterHit> counterHit(double y) const;
  [[nodiscard]] std::optional<Row> find(int lane, int row) const;

 private:
  void placeWorld(const RunModel& model, const Options& options);
  void placeForecast(const Options& options);
  void placeLines(const RunModel& model, const Options& options);
  void placeRank(const RunModel& model, const Options& options, int rank, bool collapsed);
  void placeLane(const RunModel& model, const Options& options, RankBox& box, const Lane& lane);
  void placeCounters(const RunModel& model, const Options& options, RankBox& box);

  WorldBox world_;
  ForecastBox forecast_;
  RankLines lines_;
  std::vector<RankBox> ranks_;
  std::vector<int> boxOf_;  // by rank, of ranks_; -1: none
  double height_ = 0;
};

}  // namespace lockstep::ui
