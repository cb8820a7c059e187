#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/analysis/GrowingFigure.h"
#include "engine/analysis/RankActivity.h"
#include "engine/analysis/RankFlights.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/RunData.h"
#include "engine/analysis/SlowLink.h"
#include "engine/analysis/StepTimes.h"
#include "engine/analysis/Tail.h"

namespace lockstep::analysis {

/// A step of one rank cut into parts that add up to it (Note [Overlap]), and why its exposed part
/// is there (Note [Tail]):
///   step = alone + overlap + exposed + other,
///   exposed = no core + waiting + transfer + undivided.
struct StepOverlap {
  StepTimes times;
  double aloneMs = 0;      ///< computing, nothing in flight
  double noCoreMs = 0;     ///< exposed, because this rank's step thread was ready and had no core
  double waitingMs = 0;    ///< exposed, for the last rank of a collective
  double transferMs = 0;   ///< exposed, once all had come
  double undividedMs = 0;  ///< exposed, of either kind: sends, receives, missing records, copies
  double otherMs = 0;      ///< neither computing nor in flight
  double idleMs = 0;       ///< in otherMs: the step thread waits for a bucket, nothing in flight
  double forwardComputingMs = 0;
  double backwardComputingMs = 0;
  /// Data on its way, hidden or not; none where it cannot be told from waiting.
  std::optional<double> carriedMs;
  double carriedExposedMs = 0;  ///< the part of it that is exposed
  std::vector<TailItem> tail;   ///< the largest first
  bool operator==(const StepOverlap&) const = default;
};

/// Returns one entry for each of `run.steps()`, in their order. `run` is the analysis of `data`.
std::vector<StepOverlap> stepOverlaps(const RunData& data, const RunAnalysis& run);
/// The same, a list for each rank that has spans: of many ranks all of them are large.
std::vector<std::vector<StepOverlap>> rankStepOverlaps(const RunData& data, const RunAnalysis& run);

/// What TailCause::kMuchTransfer is called, which only all transfers of a run together can tell:
/// Note [Slow link]. None: it does not cost beyond chance. `steps`: all of them, by rank.
std::optional<TailCause> toldTransfer(std::span<const TransferOfStep> steps, const RunData& data,
                                      const RunAnalysis& run);

/// What looks at steps that stand in several lists takes pointers to them.
inline std::vector<const StepOverlap*> pointersTo(std::span<const StepOverlap> steps) {
  std::vector<const StepOverlap*> pointers;
  pointers.reserve(steps.size());
  for (const StepOverlap& step : steps) {
    pointers.push_back(&step);
  }
  return pointers;
}

/// What a look at the steps of a run that grows adds to the looks before.
struct OverlapNews {
  bool anew = true;                 ///< what earlier ones said of closed steps is void
  std::vector<StepOverlap> closed;  ///< that were not before; by rank, then start
  std::vector<StepOverlap> open;    ///< all of them; likewise
};

/// The same of a run that grows: Note [Figures of closed steps]. One thread at a time.
class GrowingOverlaps : private GrowingFigure {
 public:
  /// `data` and `run` go on with those of the last call.
  OverlapNews refresh(const RunData& data, const RunAnalysis& run);

 private:
  std::optional<OverlapNews> look(const RunData& data, const RunAnalysis& run);

  std::map<int, ActivityPieces> activity_;  // by rank
  FlightPieces pieces_;
  std::map<int, std::size_t> closed_;  // of each rank's steps, how many were returned
  TransferSamples transfers_;          // of these
  bool telling_ = false;               // as these say
  bool shaped_ = false;                // a modelled link has left spans of its own
};

}  // namespace lockstep::analysis
