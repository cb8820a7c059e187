#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::report::html {

/// A curve by iteration: one value a column, NaN where there is none.
struct Series {
  std::string name;
  std::string style;  ///< class of style.css, which has its colour
  std::vector<float> values;
};

/// Between what other curves lie.
struct Band {
  std::string name;
  std::vector<float> low;
  std::vector<float> high;
};

/// Curves over iterations, which a column stands for one or several of.
struct LinePlot {
  std::uint32_t firstStep = 0;
  std::uint32_t stepsAColumn = 1;
  std::string unit = {};  ///< at the vertical axis
  std::vector<Series> series = {};
  std::vector<Band> bands = {};  ///< at most one
  std::uint32_t warmUpEnd = 0;   ///< the columns of earlier iterations are shaded
  bool fromZero = true;
};

/// Returns a picture (SVG) with axes, and its legend; "" where there is no value.
std::string svgOf(const LinePlot& plot);

/// Returns the legend of swatches: class, then name.
std::string legendOf(const std::vector<std::pair<std::string, std::string>>& entries);

}  // namespace lockstep::report::html
