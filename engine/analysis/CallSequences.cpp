#include "engine/analysis/CallSequences.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "engine/analysis/Intervals.h"
#include "engine/base/NumberText.h"
#include "engine/run/Calls.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::Operation;
using trace::SpanRow;

// Note [A table of calls]
// Records become rows in three steps.
// 1. Streams. A number means the same call only among the ranks of one group, and the comparisons
//    of the checked wrapper count by themselves: each (group, checks or not) is a stream. All its
//    records, of all ranks in the order of time, go through one SequenceNumbers, which continues
//    the file's 24 bits.
// 2. Laying. Sorted by number and rank, records with one number fill one row:
//
//       number   rank 0           rank 1           rank 2
//         17     allreduce 4096   allreduce 4096   allreduce 4096   match
//         18     allreduce 4096   broadcast 4096   allreduce 4096   operation mismatch
//         19     allreduce 512    -                allreduce 512    missing rank, or undecided
//
// 3. Judging. First the holes, a column at a time, since what explains a hole stands before and
//    after it in the same column; then what is there, a row at a time. A row has the worst that is
//    found in it, by the order of CallMismatch.

struct Record {
  std::uint64_t sequence = 0;
  int rank = 0;
  bool queued = false;  // and never seen carried out, as far as this record tells
  std::uint32_t span = 0;
};

struct Stream {
  run::SequenceNumbers numbers;
  std::vector<Record> records;
};

std::uint64_t endOf(const SpanRow& span) {
  return span.startTicks + span.durationTicks;
}

bool isCall(const SpanRow& span) {
  return run::has(span.kind, run::kOfCall) && span.kind != EventKind::kShaped &&
         run::isOfAll(span.detail);
}

/// Ranks may put in, or take out, different amounts of these.
bool maySizesDiffer(Operation operation) {
  return operation == Operation::kGather || operation == Operation::kScatter ||
         operation == Operation::kAlltoall;
}

/// Lays the records of one stream side by side.
class Table {
 public:
  Table(const RunData& data, CallSequence& sequence, const std::map<int, Intervals>& gaps,
        bool complete)
      : data_(data), sequence_(sequence), gaps_(gaps), complete_(complete) {}

  void lay(std::vector<Record> records) {
    // A call that was only queued gives way to the same call once it was carried out.
    std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
      return std::tuple(a.sequence, a.rank, a.queued) < std::tuple(b.sequence, b.rank, b.queued);
    });
    const std::size_t columns = sequence_.ranks.size();
    for (const Record& record : records) {
      if (sequence_.rows.empty() || sequence_.rows.back().sequence != record.sequence) {
        sequence_.rows.push_back({record.sequence, CallMismatch::kNone});
        sequence_.calls.insert(sequence_.calls.end(), columns, CallSequence::kNoCall);
      }
      const auto column = static_cast<std::size_t>(
          std::lower_bound(sequence_.ranks.begin(), sequence_.ranks.end(), record.rank) -
          sequence_.ranks.begin());
      // The first record of a cell stays: the sort has put the one that was carried out in front.
      std::uint32_t& call = sequence_.calls[(sequence_.rows.size() - 1) * columns + column];
      if (call == CallSequence::kNoCall) {
        call = record.span;
      }
    }
  }

  void judge() {
    for (std::size_t column = 0; column < sequence_.ranks.size(); ++column) {
      judgeMissing(column);
    }
    for (std::size_t row = 0; row < sequence_.rows.size(); ++row) {
      CallMismatch& verdict = sequence_.rows[row].mismatch;
      verdict = std::max(verdict, compare(row));
      if (differs(verdict)) {
        ++sequence_.mismatches;
        sequence_.first = sequence_.first.value_or(row);
      }
    }
  }

 private:
  /// Judges each stretch of rows that a rank has no record of.
  void judgeMissing(std::size_t column) {
    const std::size_t rows = sequence_.rows.size();
    for (std::size_t row = 0; row < rows;) {
      if (sequence_.callAt(row, column) != CallSequence::kNoCall) {
        ++row;
        continue;
      }
      std::size_t behind = row;
      while (behind < rows && sequence_.callAt(behind, column) == CallSequence::kNoCall) {
        ++behind;
      }
      const CallMismatch verdict = missing(column, row, behind);
      for (; row < behind; ++row) {
        sequence_.rows[row].mismatch = std::max(sequence_.rows[row].mismatch, verdict);
      }
    }
  }

  [[nodiscard]] CallMismatch missing(std::size_t column, std::size_t from,
                                     std::size_t behind) const {
    const std::size_t rows = sequence_.rows.size();
    const bool recordedBefore = from > 0;
    const bool recordedAfter = behind < rows;
    const auto leaps = [this](std::size_t row) {
      return sequence_.rows[row].sequence != sequence_.rows[row - 1].sequence + 1;
    };
    // In turn: its recording began later; the run goes on and the record may still come; the
    // numbers of all ranks leap at the hole's begin or end, as they do where recording was off.
    if ((!recordedBefore && recordedAfter) || (!recordedAfter && !complete_) ||
        (recordedBefore && leaps(from)) || (recordedAfter && leaps(behind))) {
      return CallMismatch::kUnknown;
    }
    // Events that were dropped between the calls on either side of the hole may have been these.
    const std::uint64_t begin =
        recordedBefore ? endOf(data_.spans[sequence_.callAt(from - 1, column)]) : 0;
    const std::uint64_t end = recordedAfter
                                  ? data_.spans[sequence_.callAt(behind, column)].startTicks
                                  : ~std::uint64_t{0};
    const auto gaps = gaps_.find(sequence_.ranks[column]);
    const bool dropped =
        // Calls of a rank may overlap, so that the next begins before the last has ended.
        gaps != gaps_.end() && !clip(gaps->second, {begin, std::max(end, begin + 1)}).empty();
    return dropped ? CallMismatch::kUnknown : CallMismatch::kMissing;
  }

  [[nodiscard]] CallMismatch compare(std::size_t row) const {
    // All are compared with one of them, whichever: who stands against whom is for camps() to say.
    const SpanRow& one = data_.spans[sequence_.anyCallAt(row)];
    const Operation operation = trace::operationOf(one.detail);
    CallMismatch worst = CallMismatch::kNone;
    for (std::size_t column = 0; column < sequence_.ranks.size(); ++column) {
      const std::uint32_t call = sequence_.callAt(row, column);
      if (call == CallSequence::kNoCall) {
        continue;
      }
      const SpanRow& other = data_.spans[call];
      CallMismatch kind = CallMismatch::kNone;
      if (trace::operationOf(other.detail) != operation) {
        kind = CallMismatch::kOperation;
      } else if (!maySizesDiffer(operation) &&
                 trace::collectiveBytes(other.value) != trace::collectiveBytes(one.value)) {
        kind = CallMismatch::kSize;
      } else if (other.bucket != one.bucket) {
        kind = CallMismatch::kBucket;
      } else if (other.kind != one.kind) {
        // One was carried out, the other only queued. In a live run the other may be under way.
        kind = complete_ ? CallMismatch::kState : CallMismatch::kUnknown;
      }
      worst = std::max(worst, kind);
    }
    return worst;
  }

  const RunData& data_;
  CallSequence& sequence_;
  const std::map<int, Intervals>& gaps_;
  const bool complete_;
};

/// What a rank did in a row, as far as a mismatch of this kind looks at it.
std::string deed(const RunData& data, std::uint32_t call, CallMismatch kind) {
  if (call == CallSequence::kNoCall) {
    return kind == CallMismatch::kUnknown ? "left no record" : "made no such call";
  }
  const SpanRow& span = data.spans[call];
  if (kind == CallMismatch::kState) {
    return span.kind == EventKind::kCollectiveQueued ? "began it and never ended it"
                                                     : "went through it";
  }
  std::string text = "called " + std::string(trace::name(trace::operationOf(span.detail)));
  if (kind != CallMismatch::kMissing && kind != CallMismatch::kUnknown) {
    text += " of " + std::to_string(trace::collectiveBytes(span.value)) + " bytes";
  }
  if (kind == CallMismatch::kBucket) {
    text += span.bucket == trace::kNoBucket ? " for no bucket"
                                            : " for bucket " + std::to_string(span.bucket);
  }
  return text;
}

/// The ranks of a row by what they did, the most numerous deed first.
std::vector<std::pair<std::string, std::vector<int>>> camps(const RunData& data,
                                                            const CallSequence& sequence,
                                                            std::size_t row) {
  std::vector<std::pair<std::string, std::vector<int>>> all;
  for (std::size_t column = 0; column < sequence.ranks.size(); ++column) {
    const std::string text = deed(data, sequence.callAt(row, column), sequence.rows[row].mismatch);
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&text](const auto& camp) { return camp.first == text; });
    auto& camp = at != all.end() ? *at : all.emplace_back(text, std::vector<int>());
    camp.second.push_back(sequence.ranks[column]);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  return all;
}

/// The ranks that did not make a call, or did not end it.
std::vector<int> failing(const RunData& data, const CallSequence& sequence, std::size_t row) {
  std::vector<int> ranks;
  for (std::size_t column = 0; column < sequence.ranks.size(); ++column) {
    const std::uint32_t call = sequence.callAt(row, column);
    if (call == CallSequence::kNoCall || data.spans[call].kind == EventKind::kCollectiveQueued) {
      ranks.push_back(sequence.ranks[column]);
    }
  }
  return ranks;
}

}  // namespace

const char* name(CallMismatch mismatch) {
  switch (mismatch) {
    case CallMismatch::kNone:
      return "match";
    case CallMismatch::kUnknown:
      return "undecided";
    case CallMismatch::kState:
      return "state mismatch";
    case CallMismatch::kMissing:
      return "missing rank";
    case CallMismatch::kBucket:
      return "bucket mismatch";
    case CallMismatch::kSize:
      return "size mismatch";
    case CallMismatch::kOperation:
      return "operation mismatch";
  }
  return "";
}

std::uint32_t CallSequence::anyCallAt(std::size_t row) const {
  const auto from = calls.begin() + static_cast<std::ptrdiff_t>(row * ranks.size());
  return *std::find_if(from, from + static_cast<std::ptrdiff_t>(ranks.size()),
                       [](std::uint32_t call) { return call != kNoCall; });
}

bool recordedToItsEnd(const trace::RunInfo& info) {
  return trace::hasEnded(info.state) && trace::wasRecorded(info.kind);
}

std::vector<CallSequence> callSequences(const RunData& data, bool complete) {
  std::unordered_map<std::int32_t, int> rankOf;
  std::set<int> everybody;
  for (const trace::TrackInfo& track : data.tracks) {
    rankOf[track.id] = track.rank;
    everybody.insert(track.rank);
  }
  std::vector<std::pair<std::uint64_t, std::uint32_t>> calls;  // begin, and where
  std::map<int, std::vector<Interval>> lost;
  data.spans.eachOf(
      [](EventKind kind) { return run::has(kind, run::kOfCall) || kind == EventKind::kGap; }, 0,
      [&](const SpanRow& span, run::Spans::Index at) {
        const auto rank = rankOf.find(span.track);
        if (rank == rankOf.end()) {
          return;
        }
        if (isCall(span)) {
          calls.push_back({span.startTicks, at});
        } else if (span.kind == EventKind::kGap) {
          // One tick more, so that a gap without a duration is not empty.
          lost[rank->second].push_back({span.startTicks, endOf(span) + 1});
        }
      });
  // SequenceNumbers asks for the order of time, over all ranks.
  std::sort(calls.begin(), calls.end());
  std::map<std::pair<std::uint8_t, bool>, Stream> streams;
  for (const auto& [ticks, call] : calls) {
    const SpanRow& span = data.spans[call];
    Stream& stream = streams[{trace::groupOf(span.detail), span.kind == EventKind::kChecked}];
    stream.records.push_back({stream.numbers(trace::collectiveSequence(span.value)),
                              rankOf.at(span.track), span.kind == EventKind::kCollectiveQueued,
                              call});
  }
  std::map<int, Intervals> gaps;
  for (auto& [rank, pieces] : lost) {
    gaps[rank] = unite(std::move(pieces));
  }
  std::vector<CallSequence> sequences;
  for (auto& [key, stream] : streams) {
    CallSequence& sequence = sequences.emplace_back();
    std::tie(sequence.group, sequence.checks) = key;
    // All ranks are in the default group, also one that made no call; of another group only those
    // are known that made one.
    std::set<int> members;
    for (const Record& record : stream.records) {
      members.insert(record.rank);
    }
    const std::set<int>& columns = key.first == 0 && !key.second ? everybody : members;
    sequence.ranks.assign(columns.begin(), columns.end());
    Table table(data, sequence, gaps, complete);
    table.lay(std::move(stream.records));
    table.judge();
  }
  return sequences;
}

std::optional<std::size_t> firstMismatch(const RunData& data,
                                         const std::vector<CallSequence>& sequences) {
  std::optional<std::size_t> found;
  std::uint64_t foundTicks = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (const auto row = sequences[i].first) {
      const std::uint64_t ticks = data.spans[sequences[i].anyCallAt(*row)].startTicks;
      if (!found || ticks < foundTicks) {
        found = i;
        foundTicks = ticks;
      }
    }
  }
  return found;
}

std::vector<int> oddRanks(const RunData& data, const CallSequence& sequence, std::size_t row) {
  if (!differs(sequence.rows[row].mismatch)) {
    return {};
  }
  const auto all = camps(data, sequence, row);
  const bool majority = all.size() > 1 && all[0].second.size() > all[1].second.size();
  // One against one tells nothing of who is wrong, but who did not come is odd in any case.
  if (!majority && (sequence.rows[row].mismatch == CallMismatch::kMissing ||
                    sequence.rows[row].mismatch == CallMismatch::kState)) {
    return failing(data, sequence, row);
  }
  std::vector<int> odd;
  for (std::size_t i = majority ? 1 : 0; i < all.size(); ++i) {
    odd.insert(odd.end(), all[i].second.begin(), all[i].second.end());
  }
  std::sort(odd.begin(), odd.end());
  return odd;
}

std::string describe(const RunData& data, const CallSequence& sequence, std::size_t row) {
  if (sequence.rows[row].mismatch == CallMismatch::kNone) {
    return "All ranks of the group made the same call.";
  }
  const auto all = camps(data, sequence, row);
  std::string text;
  for (const auto& [deed, ranks] : all) {
    text += (text.empty() ? "" : "; ") + base::ranksText(ranks) + " " + deed;
  }
  // base::ranksText writes "rank 1" or "ranks 0, 2".
  text.front() = 'R';
  return text + ".";
}

}  // namespace lockstep::analysis
