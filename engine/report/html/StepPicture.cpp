#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/NumberText.h"
#include "engine/cost/Sample.h"
#include "engine/report/html/LinePlot.h"
#include "engine/report/html/Markup.h"
#include "engine/report/html/Sections.h"
#include "engine/report/html/ShownRanks.h"

namespace lockstep::report::html {
namespace {

using analysis::Landscape;
using analysis::RankFigure;

// Of more ranks a line each cannot be told from its neighbours.
constexpr std::size_t kMostLines = 8;

std::vector<float> rowOf(const Landscape& landscape, std::size_t rank) {
  std::vector<float> values;
  for (std::size_t column = 0; column < landscape.columns; ++column) {
    values.push_back(landscape.at(RankFigure::kStep, rank, column));
  }
  return values;
}

/// The middle of all ranks, and between what those lie that are not among `apart`.
void addSpread(const Landscape& landscape, const std::vector<int>& apart, LinePlot& plot) {
  Series middle{"middle rank", "middle", {}};
  Band band{"all ranks that have no line of their own", {}, {}};
  for (std::size_t column = 0; column < landscape.columns; ++column) {
    std::vector<double> all;
    float low = HUGE_VALF;
    float high = -HUGE_VALF;
    for (std::size_t rank = 0; rank < landscape.ranks.size(); ++rank) {
      const float value = landscape.at(RankFigure::kStep, rank, column);
      if (!std::isfinite(value)) {
        continue;
      }
      all.push_back(static_cast<double>(value));
      if (!std::ranges::binary_search(apart, landscape.ranks[rank])) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
    middle.values.push_back(static_cast<float>(cost::median(all).value_or(NAN)));
    band.low.push_back(low <= high ? low : NAN);
    band.high.push_back(low <= high ? high : NAN);
  }
  plot.series.push_back(std::move(middle));
  plot.bands.push_back(std::move(band));
}

}  // namespace

std::string stepPicture(const Figures& of) {
  const Landscape& landscape = of.landscape;
  if (!landscape.has(RankFigure::kStep) || landscape.columns == 0) {
    return "";
  }
  LinePlot plot{.firstStep = landscape.steps.first,
                .stepsAColumn = landscape.stepsAColumn,
                .unit = "ms",
                .warmUpEnd = of.evidence.run.warmUp.firstMeasured};
  std::vector<int> lines = landscape.ranks;
  if (lines.size() > kMostLines) {
    lines = of.report.likeness ? of.report.likeness->outliers() : std::vector<int>();
    lines.resize(std::min(lines.size(), kMostLines));
    std::ranges::sort(lines);
    addSpread(landscape, lines, plot);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const auto rank = landscape.indexOf(lines[i])) {
      plot.series.push_back(
          {of.nameOf(lines[i]), fmt::format("series{}", i), rowOf(landscape, *rank)});
    }
  }
  std::string about = "How long each iteration took.";
  if (landscape.stepsAColumn > 1) {
    about += fmt::format(" A point is the longest of {} that follow each other.",
                         base::countedText(landscape.stepsAColumn, "iteration"));
  }
  return figure("Iterations", about, svgOf(plot));
}

std::string lossPicture(const Figures& of) {
  LinePlot plot{.unit = "loss", .fromZero = false};
  std::vector<std::pair<std::uint32_t, double>> losses;
  for (const trace::MetricRow& loss : of.evidence.data.losses) {
    if (loss.rank == 0) {
      losses.emplace_back(loss.step, loss.value);
    }
  }
  if (losses.size() < 2) {
    return "";
  }
  std::ranges::sort(losses);
  const std::uint32_t steps = losses.back().first - losses.front().first + 1;
  plot.firstStep = losses.front().first;
  plot.stepsAColumn =
      (steps + Landscape::kMostColumns - 1) / static_cast<std::uint32_t>(Landscape::kMostColumns);
  Series series{"loss of rank 0", "series0", {}};
  series.values.resize((steps + plot.stepsAColumn - 1) / plot.stepsAColumn, NAN);
  for (const auto& [step, loss] : losses) {
    series.values[(step - plot.firstStep) / plot.stepsAColumn] = static_cast<float>(loss);
  }
  plot.series.push_back(std::move(series));
  return figure("Loss", "Of rank 0's batches.", svgOf(plot));
}

}  // namespace lockstep::report::html
