#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/analysis/GrowingFigure.h"
#include "engine/analysis/Intervals.h"
#include "engine/analysis/RunData.h"
#include "engine/run/Calls.h"
#include "engine/run/Grown.h"

namespace lockstep::analysis {

// Note [Calls side by side]
// A group's ranks must make the same calls in the same order: a collective has no name on the
// wire, so the n-th call of one rank meets the n-th of every other, whatever either meant by it.
// The records of a group's ranks are laid side by side by their number, and each row is judged by
// the kinds that PyTorch's Flight Recorder analysis tells apart, and by the bucket, which that
// does not know. Its data type is not recorded with a call, so that it cannot differ here.
//
// A missing record is held against a rank only where nothing else explains it: its events were
// dropped around there, its recording began later or was off (then the numbers of all ranks
// leap), the run goes on and the record may still come, or the records of the ranks were not
// written at one moment, as those of an imported job.

enum class CallMismatch : std::uint8_t {
  kNone = 0,
  kUnknown,    ///< a record is missing, and that may be the recording's fault
  kState,      ///< some ranks are through with the call, others began it and never ended it
  kMissing,    ///< a rank did not make the call
  kBucket,     ///< the ranks reduced different buckets into each other
  kSize,       ///< different numbers of bytes
  kOperation,  ///< different operations
};

/// Returns "missing rank", "size mismatch", ...; "match" for kNone.
const char* name(CallMismatch mismatch);

/// Says whether the ranks are known to differ: all but kNone and kUnknown.
constexpr bool differs(CallMismatch mismatch) {
  return mismatch > CallMismatch::kUnknown;
}

/// One number of a group, over its ranks.
struct CallRow {
  std::uint64_t sequence = 0;  ///< the file's 24 bits continued beyond their wrap
  CallMismatch mismatch = CallMismatch::kNone;
  bool operator==(const CallRow&) const = default;
};

/// The calls of one group, or the comparisons of its checked calls, whose numbers are the
/// wrapper's own. See Note [Calls side by side]. A copy costs little.
struct CallSequence {
  std::uint8_t group = 0;
  bool checks = false;
  std::vector<int> ranks;               ///< the columns, sorted
  run::Grown<CallRow> rows;             ///< by sequence
  run::Grown<trace::SpanRow> calls;     ///< rows x ranks: see callAt()
  std::vector<std::uint32_t> suspects;  ///< the rows whose ranks are not known to agree
  std::optional<std::size_t> first;     ///< the first row whose ranks differ
  std::size_t mismatches = 0;           ///< rows whose ranks differ

  /// What a rank recorded of a call; null where it recorded nothing.
  [[nodiscard]] const trace::SpanRow* callAt(std::size_t row, std::size_t column) const {
    const trace::SpanRow& call = calls[row * ranks.size() + column];
    return call.kind == kNoCall ? nullptr : &call;
  }
  /// The first call of a row that any rank recorded; every row has one.
  [[nodiscard]] const trace::SpanRow& anyCallAt(std::size_t row) const;

  static constexpr trace::EventKind kNoCall{};  ///< the kind of a place without a call
};

/// Whether every rank was recorded up to the end of the run, so that what has no record by then did
/// not happen. Where the recorder died the job may have gone on, and the traces and dumps of an
/// imported job end when each of its ranks wrote its own.
bool recordedToItsEnd(const trace::RunInfo& info);

/// Returns the sequences of all groups, by group, its calls before its checks. Sends and receives
/// are left out: they meet in pairs. `complete`: recordedToItsEnd().
std::vector<CallSequence> callSequences(const RunData& data, bool complete);

/// The same of a run that grows: Note [Figures of closed steps]. One thread at a time.
class GrowingCallSequences : private GrowingFigure {
 public:
  /// `data` and `run` go on with those of the last call.
  std::vector<CallSequence> refresh(const RunData& data, const RunAnalysis& run, bool complete);

 private:
  struct Record {
    trace::SpanRow span;
    std::uint64_t sequence = 0;
  };
  using Records = std::deque<Record>;  // which has no room to spare, as a vector that has grown
  class Table;
  /// The calls of a group, or its checks.
  struct Stream {
    std::map<int, Records> open;              // by rank: of each that made one
    run::SequenceNumbers numbers;             // after those that are closed
    CallSequence closed;
  };

  std::optional<std::vector<CallSequence>> sequences(const RunData& data, bool complete,
                                                     std::optional<std::uint32_t> next);
  bool add(int rank, const trace::SpanRow& span);
  static void number(Stream& stream);
  static void close(Stream& stream, const CallSequence& sequence, std::size_t rows);

  std::map<std::pair<std::uint8_t, bool>, Stream>
      streams_;                                // by group, its calls before its checks
  std::map<int, std::vector<Interval>> lost_;  // where a rank lost events
  bool complete_ = false;
};

/// Returns which of the sequences has the mismatch that came first in time, if any has one.
std::optional<std::size_t> firstMismatch(const std::vector<CallSequence>& sequences);

/// Returns the ranks that stand against the majority in a row; without one, those that did not make
/// or end the call, or all, who differ in what they called. Nobody when the row matches.
std::vector<int> oddRanks(const CallSequence& sequence, std::size_t row);

/// Returns a sentence on a row: "Rank 1 called broadcast of 4096 bytes, ranks 0, 2 allreduce."
std::string describe(const CallSequence& sequence, std::size_t row);

}  // namespace lockstep::analysis
