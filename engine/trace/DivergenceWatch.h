#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/trace/Messages.h"
#include "engine/trace/ReplicaWatch.h"
#include "engine/trace/RunFile.h"

namespace lockstep::trace {

// Note [Diverged]
// A run has diverged when its replicas differ although its hook does not say that they drift, or
// when a parameter, a loss or the loss of an evaluation is no finite number. What came first is
// reported: a sample of the parameters is from before the forward of its step, the loss from the
// forward, a check of the gradients from the backward, an evaluation from after the step. Gradients
// that are not finite are no divergence by themselves, but the beginning of one that follows.
//
// That a learning rate is too high is said of a run alone whose loss was lost by the first update,
// or grew on every rank before, with replicas that were not seen to differ: numbers that break down
// later from one step to the next have another cause. The first update may also have had gradients
// that were not finite: unless they were checked, the advice says so.

/// Key of an EnvironmentMessage: the user's communication hook.
inline const std::string kHook = "hook";

/// Lets a run that has diverged, and would end as finished or stopped, end as kDiverged. The exit
/// code of an observed one stays what it is.
void endAsDiverged(RunInfo& info);

/// Notices, while a run goes on, that it has diverged. [recorder thread]
class DivergenceWatch {
 public:
  explicit DivergenceWatch(std::size_t ranks) : ranks_(ranks), replicas_(ranks) {}

  void setNames(const ParametersMessage& parameters) { replicas_.setNames(parameters); }
  /// The run's hook lets replicas drift: they may differ. Say so before the first sample.
  void letDrift() { drifts_ = true; }
  /// The run has a hook that could say so (lockstep.replicas/1).
  void setPlugin(std::string hook) { replicas_.setPlugin(std::move(hook)); }
  /// Some parameters are not reduced, so that the hash of the whole model may differ.
  void ignoreHashes() { comparesHashes_ = false; }

  void take(int rank, const FingerprintMessage& sample);
  void take(int rank, const GradientsMessage& gradients);
  void take(int rank, const BadLossMessage& loss);
  void take(int rank, const EvaluationMessage& evaluation);
  void take(int rank, const SummaryMessage& summary);

  /// What came first of all that is known, once the run has diverged. May still change while
  /// ranks lag behind.
  [[nodiscard]] std::optional<RunDivergence> first() const;

  /// Returns what there is to tell of it that was not returned before, for the Problems list.
  std::vector<ProblemRow> takeProblems();

 private:
  enum class Moment : std::uint8_t { kSample, kForward, kBackward, kAfter };
  struct Place {
    std::uint32_t step = 0;
    Moment moment{};
    int rank = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Finding {
    Place place;
    std::string parameter;
    std::string text;
  };

  /// Keeps the earlier of two.
  static void keep(std::optional<Finding>& kept, Finding finding);
  [[nodiscard]] bool lostToTheLearningRate() const;
  /// Whether no rank's gradients of the step before its lost loss were anything but finite.
  [[nodiscard]] bool gradientsWereFinite() const;

  const std::size_t ranks_;
  ReplicaWatch replicas_;
  bool drifts_ = false;
  bool comparesHashes_ = true;
  std::optional<Finding> difference_;
  std::optional<Finding> parameter_;
  std::optional<Finding> gradient_;
  std::optional<Finding> evaluation_;
  std::map<int, BadLossMessage> losses_;  // by rank
  std::map<int, SummaryMessage> ends_;    // by rank
  std::map<int, std::uint32_t> checked_;  // the first step whose gradients were looked at, by rank
  bool told_ = false;
  bool advised_ = false;
};

}  // namespace lockstep::trace
