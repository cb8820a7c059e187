#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/run/Calls.h"
#include "engine/run/SpanStore.h"
#include "engine/trace/EventRecord.h"

namespace lockstep::ui {

/// One collective, or one check of it, over all ranks that recorded it. Times are host ticks.
struct Meeting {
  std::uint64_t sequence = 0;    ///< within its group, without the wrap at 24 bits
  std::uint64_t firstStart = 0;  ///< the first rank arrived
  std::uint64_t lastStart = 0;   ///< the last that is known arrived
  std::uint64_t lastEnd = 0;     ///< the last was done
  std::uint32_t arrivals = 0;    ///< head of a chain of Meetings::Arrival
  std::uint32_t step = 0;
  std::uint16_t bucket = trace::kNoBucket;
  std::uint16_t detail = 0;
  std::uint16_t lateRank = 0;
  std::uint16_t count = 0;  ///< of ranks
  std::uint8_t row = 0;     ///< where it is drawn, so that those in flight together differ
};

/// The meetings of one group, in the order of their sequence numbers, which is nearly that of
/// their times: collectives in flight together may begin or end in another order. [ui-thread]
class MeetingTable {
 public:
  /// Meetings that are further apart than this in number are apart in time too.
  static constexpr std::size_t kReorderedAtMost = 64;
  static constexpr int kRows = 4;

  [[nodiscard]] const std::vector<Meeting>& all() const { return meetings_; }
  /// The first that may end after `ticks`: none before it does.
  [[nodiscard]] std::size_t firstEndingAfter(std::uint64_t ticks) const;
  /// The rows that its meetings take, at least 1.
  [[nodiscard]] int rows() const { return rows_; }

 private:
  friend class Meetings;

  [[nodiscard]] std::optional<std::size_t> indexOf(std::uint64_t sequence) const;
  [[nodiscard]] bool mayHaveCome(int rank, std::uint64_t sequence) const;
  void noteArrival(int rank, std::uint64_t sequence);
  void settle(std::size_t members);

  std::vector<Meeting> meetings_;
  run::SequenceNumbers numbers_;
  std::vector<std::uint64_t> reached_;  // by rank, the number after the highest that it came to
  std::size_t placed_ = 0;              // those before it keep their rows
  int rows_ = 1;
};

/// All collectives and checks of a run, followed across ranks as they come in. [ui-thread]
class Meetings {
 public:
  struct Arrival {
    std::uint64_t startTicks = 0;
    std::uint32_t next = kNone;
    std::uint16_t rank = 0;
    std::uint16_t row = 0;  ///< of the rank's communication lane
  };
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  /// How long after the first of a meeting's ranks so many of them had come, in ticks.
  struct Quartiles {
    double quarter = 0;
    double half = 0;
    double threeQuarters = 0;
  };

  /// Takes a span of kind kCollective or kChecked that was put into `row`.
  void add(int rank, std::size_t row, const run::SpanRecord& span);
  /// Gives rows to what is new. `members` are the ranks of each group.
  void settle(const std::array<std::vector<int>, 256>& members);

  /// The table of a group's collectives, or of its checks.
  [[nodiscard]] const MeetingTable& table(std::uint8_t group, bool checks = false) const;
  /// Groups that have collectives, in order.
  [[nodiscard]] const std::vector<std::uint8_t>& groups() const { return groups_; }
  /// The meeting of a call (run::callOf); null when there is none. `startTicks` near the span.
  [[nodiscard]] const Meeting* find(const run::Call& call, std::uint64_t startTicks) const;
  /// The arrivals of a meeting, by rank.
  [[nodiscard]] std::vector<Arrival> arrivalsOf(const Meeting& meeting) const;
  /// The same of many ranks, in three figures.
  [[nodiscard]] Quartiles quartilesOf(const Meeting& meeting) const;

 private:
  std::array<MeetingTable, 512> tables_;
  std::vector<Arrival> arrivals_;
  std::vector<std::uint8_t> groups_;
};

}  // namespace lockstep::ui
