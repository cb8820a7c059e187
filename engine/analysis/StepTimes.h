#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/analysis/Intervals.h"
#include "engine/analysis/RunData.h"

namespace lockstep::analysis {

// Note [Overlap]
// In flight is the union of a rank's collectives as the backend saw them, from this rank's
// arrival to the end; waiting for peers is in it, and so are the comparison that goes before a
// checked collective, the rest of one on a shaped link, and what DataParallel copies between its
// devices. Computing is forward, backward and optimizer less what this rank did in them for the
// communication's sake: copy-in, copy-out, encode, decode, waits, finalize, the broadcast of
// buffers, the rebuild of buckets, DataParallel's copies, and all that a hook does around a step,
// since the step waits for it. An optimizer step that a hook takes
// beside the backward is computing wherever the step thread is. Then
//   overlap % = time in flight and computing / time in flight
//   exposed   = time in flight and not computing
// within the step's own span: a collective that goes on into the next step counts in both,
// each with its part. The quotient is that of Holistic Trace Analysis; c10d's "overlap time" is
// the window from the first launch to the end of the backward, and not this.

/// What a span counts as, by Note [Overlap].
struct Counted {
  bool inFlight = false;  ///< communication, as this rank takes part in it
  bool work = false;      ///< a phase in which this rank computes
  bool service = false;   ///< for the communication's sake: taken from the work around it
  bool aside = false;     ///< computing, whatever the step thread does

  /// Nothing goes on meanwhile: DataParallel copies between its devices.
  [[nodiscard]] bool copies() const { return inFlight && service; }
};
Counted countedAs(const trace::SpanRow& span);

/// One training step of one rank.
struct StepTimes {
  int rank = 0;
  std::uint32_t step = 0;
  std::uint64_t startTicks = 0;
  std::uint64_t endTicks = 0;
  double stepMs = 0;
  double forwardMs = 0;
  double backwardMs = 0;
  double optimizerMs = 0;
  double inFlightMs = 0;
  double computingMs = 0;
  double overlapMs = 0;
  double exposedMs = 0;
  std::optional<double> overlapPercent;  ///< none: nothing was in flight
  bool incomplete = false;               ///< events of this rank were dropped in this step
};

/// Returns one entry for each kStep span, sorted by rank, then start.
std::vector<StepTimes> stepTimes(const RunData& data);

/// When one rank communicated and when it computed, over the whole run.
struct RankActivity {
  int rank = 0;
  Intervals inFlight;
  Intervals computing;
};

/// Returns one entry for each rank with analysed spans, by rank; what stepTimes is made of.
std::vector<RankActivity> rankActivity(const RunData& data);

}  // namespace lockstep::analysis
