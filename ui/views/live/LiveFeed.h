#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// What the live view remembers of a run from one look to the next, so that each costs only what
/// is new: the ends of all iterations, and the latest analysis. [ui-thread]
class LiveFeed {
 public:
  /// The iterations of one rank, by time.
  struct Rank {
    int rank = 0;
    std::vector<StepSpan> steps;
  };

  /// Forgets everything. `model` outlives this or the next call; null: there is none.
  void setModel(const RunModel* model);
  /// Takes what has come since the last call; `analysed` may be null.
  void update(std::shared_ptr<const AnalysedRun> analysed);

  /// Ranks that are unlike the rest, as an analysis has it, the first of them most.
  void setUnlike(std::vector<int> ranks) { unlike_ = std::move(ranks); }
  [[nodiscard]] const std::vector<int>& unlike() const { return unlike_; }

  [[nodiscard]] const std::vector<Rank>& ranks() const { return ranks_; }
  /// From the start of the first iteration that is known to the end of the last; empty without.
  [[nodiscard]] TimeRange steps() const;
  /// The samples of one step of all ranks; nothing where the experiment does not tell.
  [[nodiscard]] std::optional<double> samplesAStep() const { return samplesAStep_; }
  [[nodiscard]] const std::shared_ptr<const AnalysedRun>& analysed() const { return analysed_; }

  /// The values of a figure of the analysis over a stretch of time; none without one.
  [[nodiscard]] std::vector<double> within(TimeRange range, analysis::Course course) const;

  /// Iterations a second of the slowest rank over a stretch of time; nothing before any rank has
  /// ended one. Since a rank's last end its iteration goes on, and that is no fall: it keeps the
  /// pace of its last ones until it has been silent for far longer than these took.
  [[nodiscard]] std::optional<double> stepsPerSecond(TimeRange within) const;
  /// Iterations a second of one rank.
  [[nodiscard]] static std::optional<double> stepsPerSecond(const Rank& rank, TimeRange within);

 private:
  void takeSteps();
  void readExperiment();

  const RunModel* model_ = nullptr;
  std::vector<Rank> ranks_;
  std::vector<int> unlike_;
  std::shared_ptr<const AnalysedRun> analysed_;
  std::string experiment_;  // that samplesAStep_ was read from
  std::optional<double> samplesAStep_;
};

}  // namespace lockstep::ui
