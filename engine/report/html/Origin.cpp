#include <fmt/format.h>

#include <map>

#include "engine/report/html/Markup.h"
#include "engine/report/html/Sections.h"

namespace lockstep::report::html {
namespace {

std::string folded(std::string_view title, const std::string& html) {
  return html.empty()
             ? ""
             : fmt::format("<details><summary>{}</summary>\n{}</details>\n", escaped(title), html);
}

std::string factsOf(const std::map<std::string, std::string>& facts) {
  constexpr std::size_t kLongest = 400;
  Table table({{"what"}, {"is"}});
  for (const auto& [name, value] : facts) {
    table.add({textCell(name),
               textCell(value.size() <= kLongest ? value : value.substr(0, kLongest) + " ...")});
  }
  return table.html();
}

std::string hostsOf(const RunReport& report) {
  Table table({{"host", true}, {"name"}, {"address"}, {"ticks"}, {"clock"}});
  for (const trace::HostState& host : report.hosts) {
    table.add({numberCell(host.info.host, 0), textCell(host.info.name), textCell(host.info.address),
               textCell(host.info.clockSource),
               textCell(host.offset ? text(*host.offset) : "not compared")});
  }
  return report.hosts.size() < 2 ? "" : table.html();
}

}  // namespace

std::string origin(const Figures& of) {
  constexpr std::size_t kMostOfFile = 20'000;  // bytes
  const RunReport& report = of.report;
  std::string html = folded("Hosts and their clocks", hostsOf(report));
  if (!report.info.experimentToml.empty()) {
    html +=
        folded("The experiment, every key written out",
               "<pre>" + escaped(report.info.experimentToml.substr(0, kMostOfFile)) + "</pre>\n");
  }
  html += folded("Environment of the run", factsOf(report.info.environment));
  if (!report.ranks.empty()) {
    const trace::RankInfo& rank = report.ranks.front();
    html += folded(fmt::format("Environment of rank {}", rank.rank), factsOf(rank.environment));
    html += folded(
        fmt::format("DDP logging data of rank {}, under PyTorch's names (times in ns)", rank.rank),
        factsOf(report.ddpLogging.front()));
  }
  return html;
}

}  // namespace lockstep::report::html
