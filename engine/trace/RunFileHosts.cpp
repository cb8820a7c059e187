#include "engine/trace/RunFileHosts.h"

#include <string_view>

#include "engine/trace/RunFileSchema.h"

namespace lockstep::trace::tables {

using sqlite::Database;
using sqlite::Statement;

void writeHost(Database& database, const HostInfo& host) {
  Statement(database, "INSERT OR REPLACE INTO hosts(host, name, clock, address) VALUES(?,?,?,?)")
      .runWith(host.host, std::string_view(host.name), std::string_view(host.clockSource),
               std::string_view(host.address));
}

std::vector<HostState> readHosts(Database& database) {
  std::vector<HostState> hosts;
  if (!schema::hasHosts(database)) {
    return hosts;
  }
  const std::map<int, HostClock> clocks = readClocks(database);
  Statement select(database, "SELECT host, name, clock, address FROM hosts ORDER BY host");
  while (select.row()) {
    HostState& host = hosts.emplace_back();
    host.info.host = static_cast<int>(select.integer(0));
    host.info.name = select.text(1);
    host.info.clockSource = select.text(2);
    host.info.address = select.text(3);
    if (const auto clock = clocks.find(host.info.host); clock != clocks.end()) {
      host.offset = clock->second.offset;
    }
  }
  return hosts;
}

void writeClock(Database& database, int host, const HostClock& clock) {
  // Without a number (a NULL) SQLite takes the one above the highest.
  Statement insert(database,
                   host == kRecordingHost
                       ? "INSERT INTO clocks VALUES(NULL, ?, ?, ?, ?, ?, ?)"
                       : "INSERT INTO clocks SELECT coalesce(max(id), -1000000000) + 1, ?, ?, ?, "
                         "?, ?, ? FROM clocks WHERE id < 0");
  insert.runWith(clock.calibration.originTicks, clock.calibration.originNs,
                 clock.calibration.nsPerTick, host, clock.offset.offsetNs,
                 clock.offset.uncertaintyNs);
}

std::map<int, HostClock> readClocks(Database& database) {
  std::map<int, HostClock> clocks;
  Statement select(database,
                   schema::hasHosts(database)
                       ? "SELECT origin_ticks, origin_ns, ns_per_tick, host, offset_ns, "
                         "uncertainty_ns FROM clocks ORDER BY id"
                       : "SELECT origin_ticks, origin_ns, ns_per_tick, 0, 0, 0 FROM clocks "
                         "ORDER BY id");
  while (select.row()) {
    // In the order of ids: the last one of a host stays. See Note [Ids of clocks].
    HostClock& clock = clocks[static_cast<int>(select.integer(3))];
    clock.calibration = {static_cast<std::uint64_t>(select.integer(0)), select.integer(1),
                         select.number(2)};
    clock.offset = {select.integer(4), select.integer(5)};
  }
  return clocks;
}

}  // namespace lockstep::trace::tables
