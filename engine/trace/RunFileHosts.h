#pragma once

#include <map>
#include <vector>

#include "engine/trace/RunFile.h"
#include "engine/trace/Sqlite.h"

namespace lockstep::trace::tables {

// The tables of hosts and of their clocks. Errors stick in the database.

/// Replaces the host of the same number.
void writeHost(sqlite::Database& database, const HostInfo& host);

/// All hosts by number, each with the offset that is in force; none of a file before 1.3.
std::vector<HostState> readHosts(sqlite::Database& database);

// Note [Ids of clocks]
// The row with the highest id of a host converts its ticks. Readers of 1.0 to 1.2, which know of
// one host, take the highest id of all; so that they place the recording host right, its rows have
// ids above 0, and those of other hosts below 0.
void writeClock(sqlite::Database& database, int host, const HostClock& clock);

/// The clocks in force, by host.
std::map<int, HostClock> readClocks(sqlite::Database& database);

}  // namespace lockstep::trace::tables
