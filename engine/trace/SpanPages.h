#pragma once

#include <cstdint>
#include <vector>

#include "engine/trace/RunFile.h"
#include "engine/trace/Sqlite.h"

namespace lockstep::trace {

/// Adds the rows of `spans` with ids above `after` up to `last` as they stand in the pages of the
/// file, in a fifth of the time that a statement takes: Note [Rows from pages]. `database` is in a
/// transaction that has read. Returns false, with `rows` as they were, where it cannot: while a
/// run is recorded, and where anything is not as our writer writes it. Then a statement has to read
/// them, and says what is wrong, if anything is.
bool readSpanPages(sqlite::Database& database, std::int64_t after, std::int64_t last,
                   std::vector<SpanRow>& rows);

}  // namespace lockstep::trace
