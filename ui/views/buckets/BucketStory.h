#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/BucketCap.h"
#include "engine/analysis/BucketLife.h"
#include "engine/analysis/Intervals.h"
#include "engine/analysis/RecordedSteps.h"
#include "engine/base/Result.h"
#include "engine/experiment/Experiment.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// What happened to the buckets of one iteration, on all ranks, or on some of many; times in ns
/// since the first rank began the iteration. Never changed once made. [any-thread]
struct BucketStory {
  std::uint32_t step = 0;
  bool observed = false;  ///< of a job that was only recorded: a limit of 0 is one not known
  bool preview = false;   ///< the layout was computed from shapes; nothing has been measured
  trace::BucketsMessage layout;
  std::vector<trace::ParametersMessage::Parameter> parameters;
  std::optional<experiment::DdpConfig> config;  ///< none: it cannot be read
  std::vector<analysis::BucketCap> caps;        ///< by bucket
  std::vector<analysis::ReadyOrder> orders;     ///< by rank
  std::vector<analysis::BucketLife> lives;      ///< by bucket
  std::vector<analysis::Intervals> quiet;  ///< by rank: when it did not compute; empty: unknown
  std::vector<analysis::ReplayMoment> moments;
  std::vector<std::uint16_t> bucketOf;        ///< by parameter; kNoBucket: it has none
  std::vector<std::uint32_t> placeInBuckets;  ///< by parameter; those without a bucket are last
  std::vector<std::vector<int>> readyIndex;   ///< rank, parameter: into orders; -1: never ready
  std::uint64_t originTicks = 0;
  double nsPerTick = 1;
  TimeRange range;  ///< from the first gradient to the end of the last bucket
  std::uint64_t lostEvents = 0;
  std::vector<int> asked;  ///< the ranks that were asked for; empty: none in particular
  int ranksOfRun = 0;      ///< where only some of many ranks are here; else 0
  bool examples = false;   ///< then: they are the first, the middle and the last to be ready
  bool finished = false;   ///< all ranks have ended the iteration

  [[nodiscard]] double ns(std::uint64_t ticks) const {
    return static_cast<double>(static_cast<std::int64_t>(ticks - originTicks)) * nsPerTick;
  }
  /// The tick at a time, rounded to the nearest.
  [[nodiscard]] std::uint64_t ticksAt(double ns) const;
  [[nodiscard]] int rankCount() const { return static_cast<int>(orders.size()); }
  [[nodiscard]] bool measured() const { return !moments.empty(); }
  /// Whether any rank launched a bucket: not under no_sync.
  [[nodiscard]] bool launched() const;
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] QString nameOf(std::uint32_t parameter) const;
  /// Null when it was never ready there.
  [[nodiscard]] const analysis::ReadyGradient* readyOn(int rank, std::uint32_t parameter) const;
  /// When a rank (by place) had its last gradient: from then on its backward computes nothing.
  [[nodiscard]] std::optional<std::uint64_t> computedOn(int rank) const;
  /// The rank (by place) that had it last; -1: none is known.
  [[nodiscard]] int lastToCompute() const;
  /// When a bucket's communication was in flight on a rank (by place) and that did not compute.
  [[nodiscard]] analysis::Intervals exposedOn(int rank, int bucket) const;
  /// On how many ranks a parameter was ready by then.
  [[nodiscard]] int readyRanks(std::uint32_t parameter, std::uint64_t ticks) const;
};

/// Makes the stories of one run. [ui-thread]
class BucketStories {
 public:
  /// The model outlives this.
  explicit BucketStories(const RunModel& model) : model_(model) {}

  /// Null while no layout of the run is known. `shown`: whose buckets it tells of, where the run
  /// has many ranks.
  [[nodiscard]] std::shared_ptr<const BucketStory> ofStep(std::uint32_t step,
                                                          const std::vector<int>& shown = {});
  /// What the layouts are going to be, where only the parameters and the experiment are known;
  /// `rebuilt`: after the first iteration. Null where that cannot be said.
  [[nodiscard]] std::shared_ptr<const BucketStory> preview(bool rebuilt);
  /// The experiment's table [ddp]; none when it cannot be read, or the run is not of DDP.
  [[nodiscard]] const std::optional<experiment::DdpConfig>& config();
  /// Whether the run averages gradients without buckets, as DataParallel does.
  [[nodiscard]] bool isDataParallel();

 private:
  void readExperiment();

  const RunModel& model_;
  std::string toml_;
  std::optional<experiment::DdpConfig> config_;
  bool dataParallel_ = false;
};

/// Returns an iteration worth a look: one of typical length, with rebuilt buckets where the run
/// has them, that launched buckets. Nothing before the first iteration has ended. [ui-thread]
std::optional<std::uint32_t> typicalStep(const RunModel& model);

/// Returns the stretch of time that holds all that happened to the buckets, with a little margin.
inline TimeRange wholeTime(const BucketStory& story) {
  const double length = std::max(story.range.lengthNs(), 1000.0);
  return {story.range.startNs - 0.02 * length, story.range.startNs + 1.03 * length};
}

}  // namespace lockstep::ui
