#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/analysis/RunData.h"
#include "engine/run/Calls.h"

namespace lockstep::analysis {

/// One rank's part in one collective. Of many ranks there are a million of these.
struct Arrival {
  int rank = 0;
  bool allCame = false;          ///< no rank is missing
  std::uint64_t startTicks = 0;  ///< this rank arrived
  std::uint64_t endTicks = 0;
  /// When all ranks had come, at most its end. Its own arrival where the last rank, on another
  /// host, came so little later that the clocks cannot tell. 0 when a rank is missing.
  std::uint64_t allThereTicks = 0;

  /// From its arrival until all had come; 0: unknown.
  [[nodiscard]] std::uint64_t waitingTicks() const {
    return allCame ? allThereTicks - startTicks : 0;
  }
  /// From then on to its end; 0: unknown.
  [[nodiscard]] std::uint64_t transferTicks() const {
    return allCame ? endTicks - allThereTicks : 0;
  }
  bool operator==(const Arrival&) const = default;
};

/// One collective seen on several ranks. Outer times hide stragglers, because all ranks leave
/// together: the arrivals tell who was waited for. They tell nothing while a rank is missing,
/// whose record was dropped or is not here yet: it may have been the last. Nor do they tell who
/// was last among ranks of different hosts that came within the doubt of their clocks.
struct CollectiveTimes {
  std::uint8_t group = 0;
  std::uint64_t sequence = 0;  ///< of the group; the file's 24 bits continued beyond their wrap
  trace::Operation operation = trace::Operation::kNone;
  std::uint32_t step = 0;
  std::uint16_t bucket = trace::kNoBucket;
  std::uint64_t bytes = 0;
  std::vector<Arrival> arrivals;  ///< by rank
  bool complete = false;          ///< no rank of the group is missing
  std::optional<int> lastRank;    ///< who arrived last; none: not complete, or clocks cannot tell
  std::uint64_t skewTicks = 0;    ///< from the first arrival to the last that is known
  bool operator==(const CollectiveTimes&) const = default;
};

/// What a rank's collectives of one step cost it.
struct PeerTicks {
  std::uint64_t waiting = 0;
  std::uint64_t transfer = 0;
  bool known = true;  ///< false: one of them has a rank without a record
};

/// The same of all ranks and steps of some collectives.
class PeersByStep {
 public:
  template <typename Collectives>
  explicit PeersByStep(const Collectives& collectives) {
    for (const CollectiveTimes& collective : collectives) {
      add(collective);
    }
  }

  /// Null: the rank has no collective of the step.
  [[nodiscard]] const PeerTicks* of(int rank, std::uint32_t step) const;
  /// Calls `take` with rank, step and what they cost, by step, then rank.
  template <typename Take>
  void each(const Take& take) const {
    for (const auto& [step, ranks] : steps_) {
      for (const auto& [rank, ticks] : ranks) {
        take(rank, step, ticks);
      }
    }
  }

 private:
  void add(const CollectiveTimes& collective);

  std::map<std::uint32_t, std::vector<std::pair<int, PeerTicks>>> steps_;  // by rank
};

/// The spans of the calls of all ranks, as they come: of collectives, or of the comparisons of
/// those that are checked. The waiting of a comparison is no cost of the check, since the call
/// waits for its last rank in any case; its transfer is the check's own work. Its numbers are the
/// wrapper's.
class CollectiveSpans {
 public:
  /// `calls`: kCollective or kChecked.
  explicit CollectiveSpans(trace::EventKind calls) : calls_(calls) {}

  /// Returns false where the span changes a call that was forgotten.
  bool add(int rank, const trace::SpanRow& span);
  /// Puts them in the order in which gather() looks at them, which it does where it was not done.
  void sort();
  /// Adds those of another, of which nothing was forgotten. Both are sorted.
  void add(CollectiveSpans other);
  /// Returns the calls that are not forgotten, by group and sequence; of one rank, too.
  std::vector<CollectiveTimes> gather(const trace::ClockDoubt& doubt, double nsPerTick);
  /// Says whether gather() met a span that belongs to a call that was forgotten.
  [[nodiscard]] bool stale() const { return stale_; }
  /// Forgets the calls that gather() found to be of steps below `next`: of each group the first of
  /// them.
  void forget(std::uint32_t next);

 private:
  struct Part {
    trace::SpanRow span;
    int rank = 0;
    std::uint32_t step = 0;  // of the call that it is part of
  };
  static bool before(const Part& a, const Part& b);

  trace::EventKind calls_;
  std::vector<Part> parts_;
  std::map<std::uint8_t, std::set<int>> ranksOf_;
  run::CallNumbers numbers_;                         // up to what was forgotten
  std::map<std::uint8_t, std::uint64_t> forgotten_;  // the last number
  std::uint32_t next_ = 0;
  bool stale_ = false;
};

}  // namespace lockstep::analysis
