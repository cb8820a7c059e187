#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/RunData.h"

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
};

/// The calls of one group, or the comparisons of its checked calls, whose numbers are the
/// wrapper's own. See Note [Calls side by side].
struct CallSequence {
  static constexpr std::uint32_t kNoCall = 0xFFFF'FFFF;

  std::uint8_t group = 0;
  bool checks = false;
  std::vector<int> ranks;            ///< the columns, sorted
  std::vector<CallRow> rows;         ///< by sequence
  std::vector<std::uint32_t> calls;  ///< rows x ranks: index into RunData::spans, or kNoCall
  std::optional<std::size_t> first;  ///< the first row whose ranks differ
  std::size_t mismatches = 0;        ///< rows whose ranks differ

  [[nodiscard]] std::uint32_t callAt(std::size_t row, std::size_t column) const {
    return calls[row * ranks.size() + column];
  }
  /// The first call of a row that any rank recorded; every row has one.
  [[nodiscard]] std::uint32_t anyCallAt(std::size_t row) const;
};

/// Whether every rank was recorded up to the end of the run, so that what has no record by then did
/// not happen. Where the recorder died the job may have gone on, and the traces and dumps of an
/// imported job end when each of its ranks wrote its own.
bool recordedToItsEnd(const trace::RunInfo& info);

/// Returns the sequences of all groups, by group, its calls before its checks. Sends and receives
/// are left out: they meet in pairs. `complete`: recordedToItsEnd().
std::vector<CallSequence> callSequences(const RunData& data, bool complete);

/// Returns which of the sequences has the mismatch that came first in time, if any has one.
std::optional<std::size_t> firstMismatch(const RunData& data,
                                         const std::vector<CallSequence>& sequences);

/// Returns the ranks that stand against the majority in a row; without one, those that did not make
/// or end the call, or all, who differ in what they called. Nobody when the row matches.
std::vector<int> oddRanks(const RunData& data, const CallSequence& sequence, std::size_t row);

/// Returns a sentence on a row: "Rank 1 called broadcast of 4096 bytes, ranks 0, 2 allreduce."
std::string describe(const RunData& data, const CallSequence& sequence, std::size_t row);

}  // namespace lockstep::analysis
