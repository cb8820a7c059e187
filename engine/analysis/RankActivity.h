#pragma once

#include <cstdint>
#include <vector>

#include "engine/analysis/Intervals.h"
#include "engine/analysis/RunData.h"

namespace lockstep::analysis {

// Note [Overlap]
// In flight is the union of a rank's collectives as the backend saw them, from this rank's
// arrival to the end; waiting for peers is in it, and so are the comparison that goes before a
// checked collective, the rest of one on a shaped link, and what DataParallel copies between its
// devices.
//
// Computing is forward, backward and optimizer, less
//   - what this rank did in them for the communication's sake: copy-in, copy-out, encode, decode,
//     waits, finalize, the broadcast of buffers, the rebuild of buckets, DataParallel's copies,
//     and all that a hook does around a step, since the step waits for it;
//   - a backward's time after its last gradient: nothing is left there that communication could
//     hide behind. A backward that made no gradient of DDP's (no_sync with other wrappers,
//     DataParallel) counts to its end;
//   - the time in which the step thread was ready and had no core, where the kernel can say so.
// Where the kernels of a rank's device are recorded, one by one, it computes while one of them
// runs, whatever phase of the host started it. An optimizer step that a hook takes beside the
// backward is computing wherever the step thread is. Work that a device does is by the device's
// clock, which sees its waits itself: neither the last gradient nor the host's cores cut it.
//
// Then
//   overlap % = time in flight and computing / time in flight
//   exposed   = time in flight and not computing
// within the step's own span: a collective that goes on into the next step counts in both,
// each with its part. The quotient is that of Holistic Trace Analysis; c10d's "overlap time" is
// the window from the first launch to the end of the backward, and not this.
//
// The kernel tells how long a thread waited for a core between two looks and not when. The figures
// put the wait in the middle; wherever it was, the overlap lies within OverlapBounds.

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

/// The step thread was ready and had no core for `ticks`, somewhere in `window`.
struct CoreWait {
  Interval window;
  std::uint64_t ticks = 0;  ///< at most the window's
};

/// When one rank communicated and when it computed, over the whole run.
struct RankActivity {
  int rank = 0;
  Intervals inFlight;
  Intervals computing;
  Intervals offCore;                ///< work without a core, each wait in the middle of its window
  std::vector<CoreWait> coreWaits;  ///< by window; empty where a device computes
};

/// Returns one entry for each rank with analysed spans, by rank.
std::vector<RankActivity> rankActivity(const RunData& data);

/// The rate of the clock by which waits for a core, that the kernel tells in ns, become ticks: to a
/// millionth, so that a better calibration of the clock changes nothing.
double waitRate(double nsPerTick);

/// What one rank's lanes say of its activity, all lanes together, as it comes.
class ActivityPieces {
 public:
  /// Returns false where the span changes the activity before what was forgotten last.
  bool add(const trace::SpanRow& span, double nsPerTick);
  /// The activity that is not forgotten. It costs as much as there are pieces.
  [[nodiscard]] RankActivity activity(int rank) const;
  /// Forgets what nothing from `before` on depends on.
  void forget(std::uint64_t before);

 private:
  [[nodiscard]] std::vector<Interval> allWork() const;

  std::vector<Interval> inFlight_;
  std::vector<Interval> work_;
  std::vector<Interval> backward_;         // of work, by the host's clock
  std::vector<std::uint64_t> gradients_;   // when each was ready
  std::vector<Interval> service_;          // for the communication's sake
  std::vector<Interval> serviceOfDevice_;  // of these, by the device's clock
  std::vector<Interval> kernels_;          // that compute, where they are told one by one
  std::vector<Interval> aside_;            // work of another thread, whatever the step thread does
  std::vector<CoreWait> coreWaits_;
  bool computesOnDevice_ = false;  // work is told by the device's clock
  bool hasKernels_ = false;        // or even kernel by kernel
  std::uint64_t before_ = 0;       // what ended until then is forgotten
};

/// Returns what the step thread waited for a core within a window, working or not, in ticks; of a
/// wait that reaches over its edge, as much of the wait as of its window.
double coreWaitTicks(const RankActivity& activity, const Interval& window);

/// What the overlap within a window is at least and at most, in ticks, wherever in their windows
/// the waits for a core were.
struct OverlapBounds {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};
OverlapBounds overlapBounds(const RankActivity& activity, const Interval& window);

}  // namespace lockstep::analysis
