#pragma once

#include <optional>
#include <vector>

#include "engine/cost/BlockBootstrap.h"

namespace lockstep::analysis {

/// Returns how far the mean of the runs `b` is above that of the runs `a`, one value a run, and
/// between what that lies, `tail` left out on either side: by Welch's t (1947), which lets the two
/// vary differently. None: fewer than two runs of either.
std::optional<cost::MeanInterval> runMeansInterval(const std::vector<double>& a,
                                                   const std::vector<double>& b, double tail);

/// Returns how many times `a` the values `b` are, in the geometric mean of pairs of runs, and
/// between what that lies, `tail` left out on either side: by Student's t over the logarithms of
/// the pairs' ratios, so that what both runs of a pair shared falls out. None: fewer than two
/// pairs, or a value that is not above 0.
std::optional<cost::MeanInterval> pairedRatio(const std::vector<double>& a,
                                              const std::vector<double>& b, double tail);

/// Returns the t that a share `tail` of Student's distribution lies above; 0 < `degrees` <= 1000,
/// whole or not, and 0 < tail < 0.5. By bisection of its integral.
double studentT(double degrees, double tail);

}  // namespace lockstep::analysis
