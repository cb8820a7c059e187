#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// A value and when it was had.
struct TimedValue {
  double ns = 0;
  double value = 0;
};

/// What the live view remembers of a run from one look to the next, so that each costs only what
/// is new: the ends of all iterations, and the values of the latest analysis by time. [ui-thread]
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

  [[nodiscard]] const std::vector<Rank>& ranks() const { return ranks_; }
  /// From the start of the first iteration that is known to the end of the last; empty without.
  [[nodiscard]] TimeRange steps() const;
  /// The samples of one step of all ranks; nothing where the experiment does not tell.
  [[nodiscard]] std::optional<double> samplesAStep() const { return samplesAStep_; }
  [[nodiscard]] const std::shared_ptr<const AnalysedRun>& analysed() const { return analysed_; }

  // By time, over all ranks.
  [[nodiscard]] const std::vector<TimedValue>& overlapPercent() const { return overlap_; }
  [[nodiscard]] const std::vector<TimedValue>& exposedMs() const { return exposed_; }
  /// What was waited for the rank that is waited for most, and for any rank.
  [[nodiscard]] const std::vector<TimedValue>& lateWaits() const { return lateWaits_; }
  [[nodiscard]] const std::vector<TimedValue>& waits() const { return waits_; }

  /// Iterations a second of the slowest rank over a stretch of time; nothing before any rank has
  /// ended one.
  [[nodiscard]] std::optional<double> stepsPerSecond(TimeRange within) const;
  /// Iterations a second of one rank.
  [[nodiscard]] static std::optional<double> stepsPerSecond(const Rank& rank, TimeRange within);

 private:
  void takeSteps();
  void takeAnalysis();
  void readExperiment();

  const RunModel* model_ = nullptr;
  std::vector<Rank> ranks_;
  std::shared_ptr<const AnalysedRun> analysed_;
  std::vector<TimedValue> overlap_;
  std::vector<TimedValue> exposed_;
  std::vector<TimedValue> lateWaits_;
  std::vector<TimedValue> waits_;
  std::string experiment_;  // that samplesAStep_ was read from
  std::optional<double> samplesAStep_;
};

/// Returns the values within a stretch of time.
std::vector<double> valuesWithin(const std::vector<TimedValue>& values, TimeRange within);

}  // namespace lockstep::ui
