#include "engine/report/html/LinePlot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/base/Scale.h"
#include "engine/report/html/Markup.h"

namespace lockstep::report::html {
namespace {

constexpr double kPlotWidth = 1100;
constexpr double kPlotHeight = 240;
constexpr double kPlotLeft = 58;
constexpr double kPlotRight = 12;
constexpr double kPlotTop = 12;
constexpr double kPlotBottom = 36;
constexpr double kHeadroom = 1.06;  // above the highest value

/// What the values of a plot lie between.
struct Extent {
  float low = HUGE_VALF;
  float high = -HUGE_VALF;
  std::size_t columns = 0;

  void add(const std::vector<float>& values) {
    columns = std::max(columns, values.size());
    for (const float value : values) {
      if (std::isfinite(value)) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
  }
};

Extent extentOf(const LinePlot& plot) {
  Extent extent;
  for (const Series& series : plot.series) {
    extent.add(series.values);
  }
  for (const Band& band : plot.bands) {
    extent.add(band.low);
    extent.add(band.high);
  }
  return extent;
}

/// A stretch of values without a gap between them, as points of a path.
std::string pathOf(const std::vector<float>& values, const base::Scale& x, const base::Scale& y) {
  std::string path;
  bool gap = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) {
      path += fmt::format("{}{:.1f} {:.1f}", gap ? 'M' : 'L', x.at(static_cast<double>(i)),
                          y.at(static_cast<double>(values[i])));
      // A value alone would be a path of no length.
      path += gap && (i + 1 == values.size() || !std::isfinite(values[i + 1])) ? "h0.1" : "";
    }
    gap = !std::isfinite(values[i]);
  }
  return path;
}

std::string bandOf(const Band& band, const base::Scale& x, const base::Scale& y) {
  std::string path;
  for (std::size_t i = 0; i < band.high.size(); ++i) {
    if (std::isfinite(band.high[i])) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x.at(static_cast<double>(i)),
                          y.at(static_cast<double>(band.high[i])));
    }
  }
  for (std::size_t i = band.low.size(); i-- > 0;) {
    if (std::isfinite(band.low[i])) {
      path += fmt::format("L{:.1f} {:.1f}", x.at(static_cast<double>(i)),
                          y.at(static_cast<double>(band.low[i])));
    }
  }
  return path.empty() ? "" : fmt::format("<path class=\"band\" d=\"{}Z\"/>\n", path);
}

std::string axesOf(const LinePlot& plot, const base::Scale& steps, const base::Scale& y) {
  std::string svg;
  const double yStep = base::roundStep(y.to - y.from, 5);
  for (const double value : y.ticks(yStep)) {
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text x=\"{3:.0f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.{6}f}</text>\n",
        steps.start, steps.end, y.at(value), steps.start - 6, y.at(value) + 4, value,
        base::decimalsOf(yStep));
  }
  const double xStep = std::max(1.0, base::roundStep(steps.to - steps.from, 10));
  for (const double step : steps.ticks(xStep)) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{:.0f}</text>\n",
                       steps.at(step), y.start + 16, step);
  }
  svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">iteration</text>\n",
                     steps.end, y.start + 31);
  return svg +
         fmt::format("<text x=\"4\" y=\"{:.0f}\">{}</text>\n", y.start + 31, escaped(plot.unit));
}

}  // namespace

std::string legendOf(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string html;
  for (const auto& [style, name] : entries) {
    html += fmt::format("<li><i class=\"swatch {}\"></i>{}</li>", style, escaped(name));
  }
  return "<ul class=\"legend\">" + html + "</ul>\n";
}

std::string svgOf(const LinePlot& plot) {
  const Extent extent = extentOf(plot);
  if (extent.columns == 0 || extent.low > extent.high) {
    return "";
  }
  const double last = static_cast<double>(std::max<std::size_t>(extent.columns, 2) - 1);
  const base::Scale x{0, last, kPlotLeft, kPlotWidth - kPlotRight};
  const base::Scale steps{static_cast<double>(plot.firstStep),
                          plot.firstStep + last * plot.stepsAColumn, x.start, x.end};
  const double low = plot.fromZero ? std::min(0.0, static_cast<double>(extent.low))
                                   : static_cast<double>(extent.low);
  const double range = std::max(static_cast<double>(extent.high) - low, 1e-9);
  const base::Scale y{low, low + range * kHeadroom, kPlotHeight - kPlotBottom, kPlotTop};
  std::string svg = axesOf(plot, steps, y);
  if (plot.warmUpEnd > plot.firstStep) {
    const double end = std::min(steps.at(static_cast<double>(plot.warmUpEnd)), steps.end);
    svg += fmt::format(
        "<rect class=\"shade\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\">"
        "<title>warm-up, which no figure counts</title></rect>\n",
        steps.start, kPlotTop, end - steps.start, kPlotHeight - kPlotBottom - kPlotTop);
  }
  std::vector<std::pair<std::string, std::string>> legend;
  for (const Band& band : plot.bands) {
    svg += bandOf(band, x, y);
    legend.emplace_back("band", band.name);
  }
  for (const Series& series : plot.series) {
    svg += fmt::format("<path class=\"curve {}\" d=\"{}\"><title>{}</title></path>\n", series.style,
                       pathOf(series.values, x, y), escaped(series.name));
    legend.emplace_back(series.style, series.name);
  }
  return fmt::format("<svg class=\"plot\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n{}</svg>\n",
                     kPlotWidth, kPlotHeight, svg) +
         legendOf(legend);
}

}  // namespace lockstep::report::html
