#include <fmt/format.h>

#include "app/cli/RunReportText.h"
#include "app/cli/TextTable.h"

namespace lockstep::cli {
namespace {

using report::RunReport;
/// Returns "0-2, 5" for 0, 1, 2, 5.
std::string rankRanges(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) {
      ++last;
    }
    text += (text.empty() ? "" : ", ") +
            (last == i ? std::to_string(ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]));
    i = last + 1;
  }
  return text.empty() ? "none" : text;
}

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

}  // namespace

std::string hostTable(const RunReport& report) {
  // With one host there is one clock, and nothing to compare.
  if (report.hosts.size() < 2) {
    return "";
  }
  TextTable table({"host", "name", "address", "ranks", "ticks", "clock"});
  for (const trace::HostState& host : report.hosts) {
    std::vector<int> ranks;
    for (const trace::RankInfo& rank : report.ranks) {
      if (rank.host == host.info.host) {
        ranks.push_back(rank.rank);
      }
    }
    table.add({std::to_string(host.info.host), host.info.name,
               host.info.address.empty() ? "-" : host.info.address, rankRanges(ranks),
               host.info.clockSource, clockText(host, report.info.kind)});
  }
  return table.text();
}

}  // namespace lockstep::cli
