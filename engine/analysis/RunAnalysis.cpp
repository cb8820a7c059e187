#include "engine/analysis/RunAnalysis.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/analysis/GrowingAnalysis.h"

namespace lockstep::analysis {
namespace {

/// The values of those entries that end within some ticks, where `valueOf` has one.
template <typename T, typename EndOf, typename ValueOf>
std::vector<double> valuesWithin(const run::Grown<T>& entries, const Interval& within, EndOf endOf,
                                 ValueOf valueOf) {
  std::vector<double> values;
  for (std::size_t i =
           run::firstWhere(entries, [&](const T& entry) { return endOf(entry) >= within.begin; });
       i < entries.size() && endOf(entries[i]) < within.end; ++i) {
    if (const std::optional<double> value = valueOf(entries[i])) {
      values.push_back(*value);
    }
  }
  return values;
}

}  // namespace

WarmUp warmUp(const std::vector<trace::BucketsMessage>& layouts, std::uint32_t firstStep) {
  for (const trace::BucketsMessage& layout : layouts) {
    if (layout.reason == "rebuild" && layout.step > firstStep) {
      return {layout.step + 1,
              fmt::format("steps {} to {} are left out as warm-up: the buckets were rebuilt for "
                          "step {}",
                          firstStep, layout.step, layout.step)};
    }
  }
  return {firstStep + 1, fmt::format("step {} is left out as warm-up", firstStep)};
}

bool RunAnalysis::isLate(int rank) const {
  const auto of = std::ranges::lower_bound(lateness, rank, {}, &RankLateness::rank);
  return of != lateness.end() && of->rank == rank && of->late;
}

RunAnalysis analyse(const RunData& data) {
  return GrowingAnalysis().refresh(data, false);
}

std::vector<double> courseOf(const RunAnalysis& run, Course course, const Interval& within) {
  const double toMs = run.nsPerTick / 1e6;
  if (course == Course::kOverlapPercent || course == Course::kExposedMs) {
    const auto steps = run.stepRows.lists().find(run.exposedRank.value_or(-1));
    if (!run.exposedRank || steps == run.stepRows.lists().end()) {
      return {};
    }
    return valuesWithin(
        steps->second, within, [](const StepTicks& step) { return step.endTicks; },
        [&](const StepTicks& step) -> std::optional<double> {
          if (step.step < run.warmUp.firstMeasured || step.incomplete || step.inFlight == 0) {
            return std::nullopt;
          }
          return course == Course::kExposedMs ? static_cast<double>(step.exposed()) * toMs
                                              : step.percentOfFlight(step.overlap);
        });
  }
  const auto ofLate = run.waitsFor.find(run.lateRank.value_or(-1));
  const bool late = course == Course::kLateWaitsMs;
  if (late && (!run.lateRank || ofLate == run.waitsFor.end())) {
    return {};
  }
  return valuesWithin(
      late ? ofLate->second : run.waits, within,
      [](const TickedValue& waited) { return waited.ticks; },
      [&](const TickedValue& waited) { return std::optional(waited.value * toMs); });
}

}  // namespace lockstep::analysis
