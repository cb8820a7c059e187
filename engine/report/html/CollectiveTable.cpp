#include <fmt/format.h>

#include <algorithm>

#include "engine/base/NumberText.h"
#include "engine/report/html/Markup.h"
#include "engine/report/html/Sections.h"
#include "engine/trace/Operation.h"

namespace lockstep::report::html {
namespace {

using analysis::CollectiveTimes;

constexpr std::size_t kMostCollectives = 50;
constexpr double kNsPerMs = 1e6;

std::uint64_t waitingOf(const CollectiveTimes& collective) {
  std::uint64_t ticks = 0;
  for (const analysis::Arrival& arrival : collective.arrivals) {
    ticks += arrival.waitingTicks();
  }
  return ticks;
}

std::uint64_t transferOf(const CollectiveTimes& collective) {
  std::uint64_t ticks = 0;
  for (const analysis::Arrival& arrival : collective.arrivals) {
    ticks = std::max(ticks, arrival.transferTicks());
  }
  return ticks;
}

/// Those of measured steps that were waited for most, the most first.
std::vector<std::pair<std::uint64_t, const CollectiveTimes*>> worstOf(
    const analysis::RunAnalysis& run) {
  std::vector<std::pair<std::uint64_t, const CollectiveTimes*>> worst;
  for (const CollectiveTimes& collective : run.collectives) {
    if (collective.step >= run.warmUp.firstMeasured) {
      worst.emplace_back(waitingOf(collective), &collective);
    }
  }
  const auto end =
      worst.begin() + static_cast<std::ptrdiff_t>(std::min(worst.size(), kMostCollectives));
  std::ranges::partial_sort(worst, end, [](const auto& a, const auto& b) {
    return a.first > b.first || (a.first == b.first && a.second->sequence < b.second->sequence);
  });
  worst.erase(end, worst.end());
  return worst;
}

}  // namespace

std::string collectiveTable(const Figures& of) {
  const analysis::RunAnalysis& run = of.evidence.run;
  const auto ms = [&](std::uint64_t ticks) {
    return msCell(static_cast<double>(ticks) * run.nsPerTick / kNsPerMs);
  };
  Table table({{"step", true},
               {"operation"},
               {"bucket", true},
               {"group", true},
               {"number", true, "of the group's calls"},
               {"size", true},
               {"last rank", true, "who came last"},
               {"first to last [ms]", true, "from the first rank's arrival to the last one's"},
               {"waiting [ms]", true, "by all ranks together, for the last one"},
               {"transfer [ms]", true, "from the last arrival to the end, the longest of a rank"}});
  for (const auto& [waiting, collective] : worstOf(run)) {
    table.add({countCell(collective->step), textCell(trace::name(collective->operation)),
               collective->bucket == trace::kNoBucket ? Cell{} : countCell(collective->bucket),
               countCell(collective->group), countCell(collective->sequence),
               bytesCell(collective->bytes),
               collective->lastRank ? numberCell(*collective->lastRank, 0) : Cell{},
               ms(collective->skewTicks), ms(waiting), ms(transferOf(*collective))});
  }
  return figure("Collectives",
                run.collectives.size() > kMostCollectives
                    ? fmt::format("Those of measured steps in which ranks waited longest for the "
                                  "last one: {} of {} in the whole run.",
                                  kMostCollectives, base::countText(run.collectives.size()))
                    : "Those of measured steps.",
                table.html());
}

}  // namespace lockstep::report::html
