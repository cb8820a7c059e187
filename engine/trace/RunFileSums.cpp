#include "engine/trace/RunFileSums.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::trace {
namespace {

using sqlite::Database;
using sqlite::Statement;

/// Rounds each to the tick: sums of a host whose ticks are longer or shorter than the axis'.
void scale(StepSumsRow& row, double rate) {
  for (std::uint64_t* ticks :
       {&row.forward, &row.backward, &row.optimizer, &row.inFlight, &row.computing, &row.overlap,
        &row.offCore, &row.overlapLeast, &row.overlapMost, &row.coreWait}) {
    *ticks = static_cast<std::uint64_t>(std::llround(static_cast<double>(*ticks) * rate));
  }
}

StepSumsRow rowOf(const Statement& select) {
  const auto ticks = [&](int column) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(select.integer(column), 0));
  };
  StepSumsRow row;
  row.id = select.integer(0);
  row.rank = static_cast<int>(select.integer(1));
  row.step = static_cast<std::uint32_t>(select.integer(2));
  row.kept = static_cast<KeptDetail>(std::clamp<std::int64_t>(select.integer(3), 0, 4));
  row.forward = ticks(4);
  row.backward = ticks(5);
  row.optimizer = ticks(6);
  row.inFlight = ticks(7);
  row.computing = ticks(8);
  row.overlap = std::min(ticks(9), row.inFlight);
  row.offCore = ticks(10);
  row.overlapLeast = row.overlap - std::min(row.overlap, ticks(11));
  row.overlapMost = row.overlap + ticks(12);
  row.coreWait = ticks(13);
  return row;
}

}  // namespace

StepSumsWriter::StepSumsWriter(Database& database)
    : insert_(database,
              "INSERT INTO step_sums(rank, step, kept, forward, backward, optimizer, in_flight, "
              "computing, overlap, off_core, overlap_less, overlap_more, core_wait) "
              "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") {}

// The bounds of the overlap as their distance from it: nearly always 0, which takes no byte.
void StepSumsWriter::write(const StepSumsRow& sums) {
  insert_.runWith(sums.rank, sums.step, static_cast<std::int32_t>(sums.kept), sums.forward,
                  sums.backward, sums.optimizer, sums.inFlight, sums.computing, sums.overlap,
                  sums.offCore, sums.overlap - std::min(sums.overlap, sums.overlapLeast),
                  std::max(sums.overlap, sums.overlapMost) - sums.overlap, sums.coreWait);
}

void StepSumsReader::read(Database& database, const HostAxis& axis,
                          std::vector<StepSumsRow> packed, std::vector<StepSumsRow>& rows) {
  if (!present_) {
    Statement table(database, "SELECT 1 FROM sqlite_master WHERE name = 'step_sums'");
    const bool found = table.row();
    if (!database.ok()) {
      return;
    }
    present_ = found;  // tables are made with the file, and never later
  }
  std::vector<StepSumsRow> fresh = std::exchange(waiting_, {});
  if (*present_) {
    Statement select(database,
                     "SELECT id, rank, step, kept, forward, backward, optimizer, in_flight, "
                     "computing, overlap, off_core, overlap_less, overlap_more, core_wait "
                     "FROM step_sums WHERE id > ? ORDER BY id");
    select.bind(1, last_);
    while (select.row()) {
      last_ = fresh.emplace_back(rowOf(select)).id;
    }
  }
  fresh.insert(fresh.end(), packed.begin(), packed.end());
  for (StepSumsRow& row : fresh) {
    if (const std::optional<double> rate = axis.rateOf(row.rank)) {
      if (*rate != 1) {
        scale(row, *rate);
      }
      rows.push_back(row);
    } else {
      waiting_.push_back(row);
    }
  }
}

}  // namespace lockstep::trace
