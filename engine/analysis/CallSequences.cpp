#include "engine/analysis/CallSequences.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

#include "engine/base/NumberText.h"
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
// 2. Laying. Of each rank sorted by number, records with one number fill one row:
//
//       number   rank 0           rank 1           rank 2
//         17     allreduce 4096   allreduce 4096   allreduce 4096   match
//         18     allreduce 4096   broadcast 4096   allreduce 4096   operation mismatch
//         19     allreduce 512    -                allreduce 512    missing rank, or undecided
//
// 3. Judging. First the holes, a column at a time, since what explains a hole stands before and
//    after it in the same column; then what is there, a row at a time. A row has the worst that is
//    found in it, by the order of CallMismatch.

std::uint64_t endOf(const SpanRow& span) {
  return span.startTicks + span.durationTicks;
}

bool isKindOfCall(EventKind kind) {
  return run::has(kind, run::kOfCall) && kind != EventKind::kShaped;
}

bool isCall(const SpanRow& span) {
  return isKindOfCall(span.kind) && run::isOfAll(span.detail);
}

/// Ranks may put in, or take out, different amounts of these.
bool maySizesDiffer(Operation operation) {
  return operation == Operation::kGather || operation == Operation::kScatter ||
         operation == Operation::kAlltoall;
}

/// What a rank did in a row, as far as a mismatch of this kind looks at it.
std::string deed(const SpanRow* call, CallMismatch kind) {
  if (call == nullptr) {
    return kind == CallMismatch::kUnknown ? "left no record" : "made no such call";
  }
  const SpanRow& span = *call;
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
std::vector<std::pair<std::string, std::vector<int>>> camps(const CallSequence& sequence,
                                                            std::size_t row) {
  std::vector<std::pair<std::string, std::vector<int>>> all;
  for (std::size_t column = 0; column < sequence.ranks.size(); ++column) {
    const std::string text = deed(sequence.callAt(row, column), sequence.rows[row].mismatch);
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
std::vector<int> failing(const CallSequence& sequence, std::size_t row) {
  std::vector<int> ranks;
  for (std::size_t column = 0; column < sequence.ranks.size(); ++column) {
    const SpanRow* call = sequence.callAt(row, column);
    if (call == nullptr || call->kind == EventKind::kCollectiveQueued) {
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

const SpanRow& CallSequence::anyCallAt(std::size_t row) const {
  std::size_t column = 0;
  while (callAt(row, column) == nullptr) {
    ++column;
  }
  return *callAt(row, column);
}

bool recordedToItsEnd(const trace::RunInfo& info) {
  return trace::hasEnded(info.state) && trace::wasRecorded(info.kind);
}

std::vector<CallSequence> callSequences(const RunData& data, bool complete) {
  return GrowingCallSequences().refresh(data, {}, complete);
}

std::vector<CallSequence> GrowingCallSequences::refresh(const RunData& data, const RunAnalysis& run,
                                                        bool complete) {
  if (!run.closed.more) {
    // All is made anew once it has ended (Note [Figures of closed steps]), and nothing is kept.
    *this = GrowingCallSequences();
    GrowingCallSequences once;
    data.eachSpanOf([](EventKind kind) { return kind == EventKind::kGap || isKindOfCall(kind); }, 0,
                    [&once](int rank, const SpanRow& span) { once.add(rank, span); });
    return *once.sequences(data, complete, std::nullopt);
  }
  const auto look = [&] {
    const bool goesOn =
        goOn(data, run, [this](int rank, const SpanRow& span) { return add(rank, span); });
    return !goesOn || (next_ > 0 && complete != complete_)
               ? std::nullopt
               : sequences(data, complete, run.closed.next);
  };
  std::optional<std::vector<CallSequence>> all = look();
  if (!all) {
    *this = GrowingCallSequences();
    all = look();
  }
  return *std::move(all);
}

bool GrowingCallSequences::add(int rank, const SpanRow& span) {
  if (span.kind == EventKind::kGap) {
    // One tick more, so that a gap without a duration is not empty.
    lost_[rank].push_back({span.startTicks, endOf(span) + 1});
  } else if (isCall(span)) {
    Stream& stream = streams_[{trace::groupOf(span.detail), span.kind == EventKind::kChecked}];
    stream.open[rank].push_back({span});
    return span.step >= next_;
  }
  return true;
}

/// Lays the records of one stream side by side, after the rows that are closed.
class GrowingCallSequences::Table {
 public:
  Table(CallSequence& sequence, const std::map<int, Intervals>& gaps, bool complete)
      : sequence_(sequence), gaps_(gaps), complete_(complete), closed_(sequence.rows.size()) {}

  /// `records`: of each column, by number, what was carried out before what was only queued. Of a
  /// run that has ended they are as large as the table, and go as their calls come into it.
  void lay(const std::vector<Records*>& records, bool keep) {
    std::vector<std::size_t> next(records.size());
    const auto numberAt = [&](std::size_t column) {
      return next[column] < records[column]->size()
                 ? std::optional((*records[column])[next[column]].sequence)
                 : std::nullopt;
    };
    const auto pass = [&](std::size_t column) {
      if (keep) {
        ++next[column];
      } else {
        records[column]->pop_front();
      }
    };
    hasHoles_.assign(records.size(), false);
    for (;;) {
      std::optional<std::uint64_t> number;
      for (std::size_t column = 0; column < records.size(); ++column) {
        if (const auto at = numberAt(column); at && (!number || *at < *number)) {
          number = at;
        }
      }
      if (!number) {
        return;
      }
      rows_.push_back({*number, CallMismatch::kNone});
      for (std::size_t column = 0; column < records.size(); ++column) {
        if (numberAt(column) != number) {
          hasHoles_[column] = true;
          sequence_.calls.push_back(SpanRow());
          continue;
        }
        // The first record of a cell stays: the one that was carried out.
        sequence_.calls.push_back((*records[column])[next[column]].span);
        while (numberAt(column) == number) {
          pass(column);
        }
      }
    }
  }

  void judge() {
    for (std::size_t column = 0; column < sequence_.ranks.size(); ++column) {
      if (hasHoles_[column]) {
        judgeMissing(column);
      }
    }
    for (std::size_t row = closed_; row < rows(); ++row) {
      CallMismatch& verdict = rows_[row - closed_].mismatch;
      verdict = std::max(verdict, compare(row));
      sequence_.rows.push_back(rows_[row - closed_]);
      if (verdict != CallMismatch::kNone) {
        sequence_.suspects.push_back(static_cast<std::uint32_t>(row));
      }
      if (differs(verdict)) {
        ++sequence_.mismatches;
        sequence_.first = sequence_.first.value_or(row);
      }
    }
  }

  /// How many rows stay as they are, whatever comes of steps from `next` on: a rank that has no
  /// record of its last rows may bring it yet.
  [[nodiscard]] std::size_t settled(std::uint32_t next) const {
    std::size_t until = closed_;
    const auto isOver = [&](std::size_t row) {
      for (std::size_t column = 0; column < sequence_.ranks.size(); ++column) {
        const SpanRow* call = sequence_.callAt(row, column);
        if (call != nullptr && call->step >= next) {
          return false;
        }
      }
      return true;
    };
    while (until < rows() && isOver(until)) {
      ++until;
    }
    for (std::size_t column = 0; column < sequence_.ranks.size(); ++column) {
      std::size_t recorded = rows();
      while (recorded > 0 && sequence_.callAt(recorded - 1, column) == nullptr) {
        --recorded;
      }
      until = recorded == 0 ? until : std::min(until, std::max(recorded, closed_));
    }
    return until;
  }

 private:
  [[nodiscard]] std::size_t rows() const { return closed_ + rows_.size(); }
  [[nodiscard]] std::uint64_t number(std::size_t row) const {
    return row < closed_ ? sequence_.rows[row].sequence : rows_[row - closed_].sequence;
  }

  /// Judges each stretch of rows that a rank has no record of.
  void judgeMissing(std::size_t column) {
    for (std::size_t row = closed_; row < rows();) {
      if (sequence_.callAt(row, column) != nullptr) {
        ++row;
        continue;
      }
      std::size_t begin = row;
      while (begin > 0 && sequence_.callAt(begin - 1, column) == nullptr) {
        --begin;
      }
      std::size_t behind = row;
      while (behind < rows() && sequence_.callAt(behind, column) == nullptr) {
        ++behind;
      }
      const CallMismatch verdict = missing(column, begin, behind);
      for (; row < behind; ++row) {
        CallMismatch& mismatch = rows_[row - closed_].mismatch;
        mismatch = std::max(mismatch, verdict);
      }
    }
  }

  [[nodiscard]] CallMismatch missing(std::size_t column, std::size_t from,
                                     std::size_t behind) const {
    const bool recordedBefore = from > 0;
    const bool recordedAfter = behind < rows();
    const auto leaps = [this](std::size_t row) { return number(row) != number(row - 1) + 1; };
    // In turn: its recording began later; the run goes on and the record may still come; the
    // numbers of all ranks leap at the hole's begin or end, as they do where recording was off.
    if ((!recordedBefore && recordedAfter) || (!recordedAfter && !complete_) ||
        (recordedBefore && leaps(from)) || (recordedAfter && leaps(behind))) {
      return CallMismatch::kUnknown;
    }
    // Events that were dropped between the calls on either side of the hole may have been these.
    const std::uint64_t begin = recordedBefore ? endOf(*sequence_.callAt(from - 1, column)) : 0;
    const std::uint64_t end =
        recordedAfter ? sequence_.callAt(behind, column)->startTicks : ~std::uint64_t{0};
    const auto gaps = gaps_.find(sequence_.ranks[column]);
    const bool dropped =
        // Calls of a rank may overlap, so that the next begins before the last has ended.
        gaps != gaps_.end() && !clip(gaps->second, {begin, std::max(end, begin + 1)}).empty();
    return dropped ? CallMismatch::kUnknown : CallMismatch::kMissing;
  }

  [[nodiscard]] CallMismatch compare(std::size_t row) const {
    // All are compared with one of them, whichever: who stands against whom is for camps() to say.
    const SpanRow& one = sequence_.anyCallAt(row);
    const Operation operation = trace::operationOf(one.detail);
    CallMismatch worst = CallMismatch::kNone;
    for (std::size_t column = 0; column < sequence_.ranks.size(); ++column) {
      const SpanRow* call = sequence_.callAt(row, column);
      if (call == nullptr) {
        continue;
      }
      const SpanRow& other = *call;
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

  CallSequence& sequence_;
  const std::map<int, Intervals>& gaps_;
  const bool complete_;
  const std::size_t closed_;
  std::vector<CallRow> rows_;   // after those
  std::vector<bool> hasHoles_;  // of the columns: some of these rows has no record
};

/// Nothing where what is closed is not right any more. `next`: steps below it are closed; none: no
/// other look follows, and nothing is.
std::optional<std::vector<CallSequence>> GrowingCallSequences::sequences(
    const RunData& data, bool complete, std::optional<std::uint32_t> next) {
  complete_ = complete;
  std::set<int> everybody;
  for (const trace::TrackInfo& track : data.tracks) {
    everybody.insert(track.rank);
  }
  std::map<int, Intervals> gaps;
  for (const auto& [rank, pieces] : lost_) {
    gaps[rank] = unite(pieces);
  }
  std::vector<CallSequence> all;
  for (auto& [key, stream] : streams_) {
    number(stream);
    // All ranks are in the default group, also one that made no call; of another group only those
    // are known that made one.
    if (key.first == 0 && !key.second) {
      for (const int rank : everybody) {
        stream.open.try_emplace(rank);
      }
    }
    CallSequence& closed = stream.closed;
    std::tie(closed.group, closed.checks) = key;
    const auto columns = std::views::keys(stream.open);
    const bool otherColumns = !std::ranges::equal(closed.ranks, columns);
    std::vector<Records*> records;
    for (auto& [rank, of] : stream.open) {
      const bool before =
          !closed.rows.empty() && !of.empty() && of.front().sequence <= closed.rows.back().sequence;
      if (before || (otherColumns && !closed.rows.empty())) {
        return std::nullopt;
      }
      records.push_back(&of);
    }
    closed.ranks.assign(columns.begin(), columns.end());
    CallSequence& sequence = all.emplace_back(closed);
    Table table(sequence, gaps, complete);
    table.lay(records, next.has_value());
    table.judge();
    if (next) {
      close(stream, sequence, table.settled(*next));
    }
  }
  next_ = next.value_or(0);
  return all;
}

void GrowingCallSequences::number(Stream& stream) {
  const auto numberOf = [](const Record& of) { return trace::collectiveSequence(of.span.value); };
  std::uint32_t least = ~std::uint32_t{0};
  std::uint32_t most = 0;
  for (const auto& [rank, records] : stream.open) {
    for (const Record& record : records) {
      least = std::min(least, numberOf(record));
      most = std::max(most, numberOf(record));
    }
  }
  const bool mayWrap = !stream.closed.rows.empty() ||
                       (most > least && most - least > run::SequenceNumbers::kOutOfOrder);
  std::vector<Record*> byTime;
  for (auto& [rank, records] : stream.open) {
    for (Record& record : records) {
      record.sequence = numberOf(record);
      if (mayWrap) {
        byTime.push_back(&record);
      }
    }
  }
  // SequenceNumbers asks for the order of time, over all ranks.
  std::ranges::sort(byTime, {},
                    [](const Record* of) { return std::pair(of->span.startTicks, of->span.id); });
  run::SequenceNumbers numbers = stream.numbers;
  for (Record* record : byTime) {
    record->sequence = numbers(numberOf(*record));
  }
  // A call that was only queued gives way to the same call once it was carried out.
  const auto orderOf = [](const Record& of) {
    return std::tuple(of.sequence, of.span.kind == EventKind::kCollectiveQueued, of.span.startTicks,
                      of.span.id);
  };
  for (auto& [rank, records] : stream.open) {
    if (!std::ranges::is_sorted(records, {}, orderOf)) {
      std::ranges::sort(records, {}, orderOf);
    }
  }
}

/// Keeps the first rows, so many, and forgets what they were made of.
void GrowingCallSequences::close(Stream& stream, const CallSequence& sequence, std::size_t rows) {
  CallSequence& closed = stream.closed;
  const std::size_t columns = sequence.ranks.size();
  for (std::size_t row = closed.rows.size(); row < rows; ++row) {
    const CallMismatch mismatch = sequence.rows[row].mismatch;
    closed.rows.push_back(sequence.rows[row]);
    for (std::size_t column = 0; column < columns; ++column) {
      closed.calls.push_back(sequence.calls[row * columns + column]);
    }
    if (mismatch != CallMismatch::kNone) {
      closed.suspects.push_back(static_cast<std::uint32_t>(row));
    }
    if (differs(mismatch)) {
      ++closed.mismatches;
      closed.first = closed.first.value_or(row);
    }
  }
  std::set<std::uint64_t> over;  // their numbers
  for (auto& [rank, records] : stream.open) {
    std::erase_if(records, [&](const Record& record) {
      const bool kept = !closed.rows.empty() && record.sequence <= closed.rows.back().sequence;
      if (kept) {
        over.insert(record.sequence);
      }
      return kept;
    });
  }
  for (const std::uint64_t number : over) {
    stream.numbers(number % run::SequenceNumbers::kWrap);
  }
}

std::optional<std::size_t> firstMismatch(const std::vector<CallSequence>& sequences) {
  std::optional<std::size_t> found;
  std::uint64_t foundTicks = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (const auto row = sequences[i].first) {
      const std::uint64_t ticks = sequences[i].anyCallAt(*row).startTicks;
      if (!found || ticks < foundTicks) {
        found = i;
        foundTicks = ticks;
      }
    }
  }
  return found;
}

std::vector<int> oddRanks(const CallSequence& sequence, std::size_t row) {
  if (!differs(sequence.rows[row].mismatch)) {
    return {};
  }
  const auto all = camps(sequence, row);
  const bool majority = all.size() > 1 && all[0].second.size() > all[1].second.size();
  // One against one tells nothing of who is wrong, but who did not come is odd in any case.
  if (!majority && (sequence.rows[row].mismatch == CallMismatch::kMissing ||
                    sequence.rows[row].mismatch == CallMismatch::kState)) {
    return failing(sequence, row);
  }
  std::vector<int> odd;
  for (std::size_t i = majority ? 1 : 0; i < all.size(); ++i) {
    odd.insert(odd.end(), all[i].second.begin(), all[i].second.end());
  }
  std::sort(odd.begin(), odd.end());
  return odd;
}

std::string describe(const CallSequence& sequence, std::size_t row) {
  if (sequence.rows[row].mismatch == CallMismatch::kNone) {
    return "All ranks of the group made the same call.";
  }
  const auto all = camps(sequence, row);
  std::string text;
  for (const auto& [deed, ranks] : all) {
    text += (text.empty() ? "" : "; ") + base::ranksText(ranks) + " " + deed;
  }
  // base::ranksText writes "rank 1" or "ranks 0, 2".
  text.front() = 'R';
  return text + ".";
}

}  // namespace lockstep::analysis
