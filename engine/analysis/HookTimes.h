#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/analysis/GrowingFigure.h"
#include "engine/analysis/Intervals.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/RunData.h"

namespace lockstep::analysis {

// Note [Hook phases]
// What a hook does with one bucket of one step, on one rank, is a call. It lasts from the begin of
// its first phase to the end of its last, and every moment of it belongs to exactly one phase, so
// that the phases of a call add up to it:
//   encode    the hook worked on what is sent; also while a collective of its own was in flight
//   decode    it worked on what came, and did not encode
//   waiting   else, a collective of the bucket was in flight and the last rank had not come to it
//   transfer  else, one was in flight: moving data, comparing calls, the modelled link
//   queued    else: in line for the hook's thread, or for a thread of the backend
// A collective of which a rank's record is missing tells nothing of waiting: it is transfer.
// What a hook does around a step has no bucket, and all of a step is one call. The training lies
// between its phases, so there only the time of the phases counts, and what was neither in flight
// nor worked on is queued only while the hook communicated.

enum class HookPhase : std::uint8_t { kEncode, kQueued, kWaiting, kTransfer, kDecode };
inline constexpr int kHookPhases = 5;

/// "encode", "queued", "waiting", "transfer", "decode".
std::string_view name(HookPhase phase);

/// A hook's work on one bucket of one step of one rank.
struct HookCall {
  int rank = 0;
  std::uint32_t step = 0;
  std::uint16_t bucket = trace::kNoBucket;  ///< kNoBucket: around the step
  std::array<double, kHookPhases> ms{};     ///< by HookPhase
  double totalMs = 0;                       ///< their sum
  std::uint64_t payloadBytes = 0;  ///< of the tensors of its collectives; of what it receives: none
  std::uint64_t startTicks = 0;    ///< begin of its first phase
  std::uint64_t encodeTicks = 0;   ///< begin of its first encode, communicate, decode; 0: none
  std::uint64_t communicateTicks = 0;
  std::uint64_t decodeTicks = 0;

  [[nodiscard]] double of(HookPhase phase) const { return ms[static_cast<std::size_t>(phase)]; }
  bool operator==(const HookCall&) const = default;
};

struct HookTimes {
  WarmUp warmUp;                      ///< steps before its firstMeasured are left out
  std::vector<HookCall> calls;        ///< of the measured steps, by rank, step, bucket
  std::uint32_t measuredSteps = 0;    ///< with such a call, of all ranks together
  std::uint32_t incompleteSteps = 0;  ///< left out because events were dropped in them
};

/// Returns what the hook of a run did. A step counts once its span is there and complete.
HookTimes hookTimes(const RunData& data, const RunAnalysis& analysis);

/// What a look at the hook of a run that grows adds to the looks before.
struct HookNews {
  bool anew = true;  ///< what earlier ones said of closed steps is void
  HookTimes closed;  ///< of steps that were not closed before
  HookTimes open;    ///< of all that are open
};

/// The same of a run that grows: Note [Figures of closed steps]. One thread at a time.
class GrowingHookTimes : private GrowingFigure {
 public:
  /// `data` and `analysis` go on with those of the last call.
  HookNews refresh(const RunData& data, const RunAnalysis& analysis);

 private:
  using CallKey = std::tuple<int, std::uint32_t, std::uint16_t>;  // rank, step, bucket
  enum class Part : std::uint8_t { kEncode, kCommunicate, kDecode, kInFlight, kWaiting };
  /// What is known of a call before it is divided, or of a collective: not all are the hook's.
  struct Piece {
    CallKey key;
    Part part = Part::kEncode;
    Interval interval;
    std::uint64_t payload = 0;  // of what is in flight

    [[nodiscard]] std::uint32_t step() const { return std::get<1>(key); }
  };
  using Pieces = std::span<const Piece>;
  using StepKey = std::pair<int, std::uint32_t>;  // rank, step

  static HookNews ofAll(const RunData& data, const RunAnalysis& analysis);
  static bool wants(trace::EventKind kind);
  static bool isPhase(Part part) { return part != Part::kInFlight && part != Part::kWaiting; }
  static void add(int rank, const trace::SpanRow& span, std::vector<Piece>& to);
  static void divideAll(std::vector<Piece>& pieces, const std::set<StepKey>& complete,
                        const RunAnalysis& analysis, const base::ClockCalibration& clock,
                        HookNews& news);
  void addWaiting(const RunAnalysis& analysis);
  static HookCall divide(Pieces call, const base::ClockCalibration& clock);

  // Of all calls that are open, in one list: there are thousands at each look, and what is asked of
  // the heap piece by piece lies ever farther apart as a run goes on.
  std::vector<Piece> pieces_;
};

}  // namespace lockstep::analysis
