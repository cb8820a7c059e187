#pragma once

#include <QString>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/analysis/CallSequences.h"
#include "engine/analysis/Divergence.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"
#include "ui/views/divergence/GrowingStrips.h"
#include "ui/views/divergence/HeatPyramid.h"
#include "ui/views/divergence/StepSeries.h"

namespace lockstep::ui {

/// All that the divergence view shows of a run, worked out beside the user interface. Never
/// changed once made, so any thread may read it.
struct DivergenceFacts {
  std::shared_ptr<const AnalysedRun> run;
  analysis::Divergence divergence;
  HeatPyramid hashes{HeatMeasure::kHashes};
  HeatPyramid norms{HeatMeasure::kNorms};
  std::vector<StripData> strips;  ///< those that have values
  std::uint32_t firstStep = 0;    ///< over everything that is shown by step
  std::uint32_t lastStep = 0;
  std::vector<analysis::CallSequence> sequences;
  std::optional<std::size_t> firstMismatch;  ///< index into `sequences`
  bool complete = false;  ///< recordedToItsEnd()
  bool drifts = false;    ///< the hook lets replicas drift by design
  bool observed = false;  ///< a job that was only recorded: it has no experiment
  QString hook;           ///< the hook that does; empty: not recorded

  [[nodiscard]] const analysis::RunData& data() const { return run->data; }
  [[nodiscard]] const HeatPyramid& pyramid(HeatMeasure measure) const {
    return measure == HeatMeasure::kHashes ? hashes : norms;
  }
};

/// What the facts are made of, copied from the model by its thread.
struct FactsInput {
  std::shared_ptr<const AnalysedRun> run;
  bool complete = false;
  bool observed = false;
  QString driftingHook;  ///< RunInfo's
  /// The squared distance to the mean that averaging hooks count, by rank.
  std::map<int, std::vector<MetricPoint>> hookDistances;
};
/// [ui-thread]
FactsInput factsInput(const RunModel& model, std::shared_ptr<const AnalysedRun> run);

/// Takes as long as a sort of the run's collectives. [any-thread]
std::shared_ptr<const DivergenceFacts> divergenceFacts(FactsInput input);

/// The same of a run that grows, for the price of what is new, but for distances that a hook
/// counts. [any-thread]
class GrowingDivergenceFacts {
 public:
  /// `input` goes on with that of the last call.
  std::shared_ptr<const DivergenceFacts> refresh(FactsInput input);

 private:
  std::mutex mutex_;
  analysis::GrowingDivergence divergence_;
  // Of what is closed:
  analysis::DivergenceParts closed_;
  HeatPyramid hashes_{HeatMeasure::kHashes};
  HeatPyramid norms_{HeatMeasure::kNorms};
  GrowingStrips strips_;

  analysis::GrowingCallSequences sequences_;
};

/// Returns what a call is: "allreduce".
QString nameOfOperation(const trace::SpanRow& call);

/// Returns the name of a parameter: "fc1.weight", or "parameter 3" where it is not known.
QString nameOfParameter(const DivergenceFacts& facts, std::size_t parameter);

}  // namespace lockstep::ui
