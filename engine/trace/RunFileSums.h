#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/trace/HostAxis.h"
#include "engine/trace/RunFile.h"
#include "engine/trace/Sqlite.h"

namespace lockstep::trace {

// The table of the sums of steps, which format 1.7 added. Errors stick in the database.

class StepSumsWriter {
 public:
  explicit StepSumsWriter(sqlite::Database& database);

  void write(const StepSumsRow& sums);

 private:
  sqlite::Statement insert_;
};

class StepSumsReader {
 public:
  /// Adds the rows that are new since the last call, on the ticks of the recording host; of a rank
  /// whose host has no clock yet they wait here. None of a file without this table. `packed`: sums
  /// that came from elsewhere, and go the same way.
  void read(sqlite::Database& database, const HostAxis& axis, std::vector<StepSumsRow> packed,
            std::vector<StepSumsRow>& rows);

 private:
  std::optional<bool> present_;
  std::int64_t last_ = 0;
  std::vector<StepSumsRow> waiting_;
};

}  // namespace lockstep::trace
