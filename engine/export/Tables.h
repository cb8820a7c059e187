#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"
#include "engine/export/Selection.h"
#include "engine/export/Survey.h"

namespace lockstep::exports {

/// A table that can be written of any run.
struct TableInfo {
  std::string_view name;   ///< "events", "steps", ...
  std::string_view shows;  ///< what a row is
};

/// All tables, in the order in which they are offered.
const std::vector<TableInfo>& tables();

struct TableReport {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  ///< of the file
};

/// Writes a table of a run, live or finished, as CSV (see Csv.h) into a file ("-": standard output;
/// a name that ends in ".gz" is compressed). Times are ms since the origin of the run's
/// clock, as the studio shows them: what a rank did before the recorder began is before 0. The
/// tables of parameters, buckets and problems are whole whatever is selected. Errors: no such
/// table, a run file that cannot be read, a selection that holds nothing, a file that cannot be
/// written, kInterrupted. After an error there is no file, or the one before.
base::Result<TableReport> writeTable(const std::filesystem::path& run, std::string_view table,
                                     const std::filesystem::path& file, const Selection& selection,
                                     const Progress& progress = {});

}  // namespace lockstep::exports
