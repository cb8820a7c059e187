#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "app/cli/RunReportText.h"
#include "app/cli/TextTable.h"
#include "engine/base/NumberText.h"
#include "engine/base/RangesText.h"

namespace lockstep::cli {
namespace {

using report::RunReport;

/// Nobody recorded an imported job: its first host is the one whose clock the others' are taken to.
std::string clockText(const trace::HostState& host, trace::RunKind kind) {
  const bool imported = kind == trace::RunKind::kImported;
  if (host.info.host == trace::kRecordingHost) {
    return imported ? "the reference clock" : "records the run";
  }
  return host.offset
             ? text(*host.offset)
             : fmt::format("not compared with the {} host's", imported ? "first" : "recording");
}

std::vector<int> ranksOn(const RunReport& report, int host) {
  std::vector<int> ranks;
  for (const trace::RankInfo& rank : report.ranks) {
    if (rank.host == host) {
      ranks.push_back(rank.rank);
    }
  }
  return ranks;
}

std::string eachHost(const RunReport& report) {
  TextTable table({"host", "name", "address", "ranks", "ticks", "clock"});
  for (const trace::HostState& host : report.hosts) {
    table.add({std::to_string(host.info.host), host.info.name,
               host.info.address.empty() ? "-" : host.info.address,
               base::rangesText(ranksOn(report, host.info.host)), host.info.clockSource,
               clockText(host, report.info.kind)});
  }
  return table.text();
}

/// Hosts whose clocks are known alike and that have as many ranks, in one row.
struct AlikeHosts {
  std::vector<const trace::HostState*> hosts;
  std::vector<int> ranks;

  [[nodiscard]] std::vector<std::string> cells(trace::RunKind kind) const {
    constexpr std::size_t kMostShown = 4;
    std::vector<int> numbers;
    for (const trace::HostState* host : hosts) {
      numbers.push_back(host->info.host);
    }
    return {base::rangesText(numbers, kMostShown),
            base::countText(hosts.size()),
            fromTo(hosts.front()->info.name, hosts.back()->info.name),
            fromTo(hosts.front()->info.address, hosts.back()->info.address),
            base::rangesText(ranks, kMostShown),
            hosts.front()->info.clockSource,
            clocks(kind)};
  }

 private:
  static std::string fromTo(const std::string& first, const std::string& last) {
    return first.empty() && last.empty() ? "-"
           : first == last               ? first
                                         : fmt::format("{} ... {}", first, last);
  }
  [[nodiscard]] std::string clocks(trace::RunKind kind) const {
    const auto [least, most] = std::minmax_element(
        hosts.begin(), hosts.end(), [](const trace::HostState* a, const trace::HostState* b) {
          return a->offset && b->offset && a->offset->offsetNs < b->offset->offsetNs;
        });
    const std::string low = clockText(**least, kind);
    const std::string high = clockText(**most, kind);
    return low == high ? low : fmt::format("{} to {}", low, high);
  }
};

std::string alikeHosts(const RunReport& report) {
  std::map<std::tuple<bool, bool, std::size_t, std::string>, AlikeHosts> rows;
  for (const trace::HostState& host : report.hosts) {
    std::vector<int> ranks = ranksOn(report, host.info.host);
    AlikeHosts& row = rows[{host.info.host != trace::kRecordingHost, host.offset.has_value(),
                            ranks.size(), host.info.clockSource}];
    row.hosts.push_back(&host);
    row.ranks.insert(row.ranks.end(), ranks.begin(), ranks.end());
  }
  TextTable table({"hosts", "count", "names", "address", "ranks", "ticks", "clock"});
  for (auto& [alike, row] : rows) {
    std::sort(row.ranks.begin(), row.ranks.end());
    table.add(row.cells(report.info.kind));
  }
  return table.text();
}

}  // namespace

std::string hostTable(const RunReport& report, Lists lists) {
  // With one host there is one clock, and nothing to compare.
  if (report.hosts.size() < 2) {
    return "";
  }
  return lists == Lists::kWhole || report.hosts.size() <= report::kHandful ? eachHost(report)
                                                                   : alikeHosts(report);
}

}  // namespace lockstep::cli
