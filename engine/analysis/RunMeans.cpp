#include "engine/analysis/RunMeans.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep::analysis {
namespace {

/// The part of a Student distribution that lies above `t` >= 0: with t = sqrt(degrees) * tan(x) its
/// density becomes cos(x)^(degrees - 1), which Simpson's rule takes in its stride.
double shareAbove(double degrees, double t) {
  constexpr int kPieces = 2000;
  const double from = std::atan(t / std::sqrt(degrees));
  const auto integral = [&](double begin) {
    const double end = std::acos(0.0);
    const double width = (end - begin) / kPieces;
    double sum = 0;
    for (int i = 0; i <= kPieces; ++i) {
      const double weight = i == 0 || i == kPieces ? 1 : i % 2 == 1 ? 4 : 2;
      // At the upper end rounding may make it a little less than 0, whose power is no number.
      const double cosine = std::max(0.0, std::cos(begin + i * width));
      sum += weight * std::pow(cosine, degrees - 1);
    }
    return sum * width / 3;
  };
  return 0.5 * integral(from) / integral(0);
}

struct RunMoments {
  double mean = 0;
  double ofMean = 0;  ///< the variance of the mean
  double count = 0;
};

RunMoments momentsOf(const std::vector<double>& values) {
  RunMoments of;
  of.count = static_cast<double>(values.size());
  of.mean = std::accumulate(values.begin(), values.end(), 0.0) / of.count;
  double squares = 0;
  for (const double value : values) {
    squares += (value - of.mean) * (value - of.mean);
  }
  of.ofMean = squares / (of.count - 1) / of.count;
  return of;
}

}  // namespace

double studentT(double degrees, double tail) {
  double low = 0;
  double high = 1;
  // Two runs on each side have 1 to 2 degrees of freedom, whose t for 0.5 % is 64 to 10: no fixed
  // upper end would do.
  while (shareAbove(degrees, high) > tail && high < 1e9) {
    high *= 2;
  }
  while (high - low > 1e-7 * high) {
    const double middle = (low + high) / 2;
    (shareAbove(degrees, middle) > tail ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::optional<cost::MeanInterval> runMeansInterval(const std::vector<double>& a,
                                                   const std::vector<double>& b, double tail) {
  if (a.size() < 2 || b.size() < 2) {
    return std::nullopt;
  }
  const RunMoments ofA = momentsOf(a);
  const RunMoments ofB = momentsOf(b);
  const double variance = ofA.ofMean + ofB.ofMean;
  const double mean = ofB.mean - ofA.mean;
  // Runs that are all alike, such as bytes a step: any difference is a certain one.
  if (variance <= 0) {
    return cost::MeanInterval{mean, mean, mean};
  }
  // Welch and Satterthwaite: between the smaller of the two counts less 1, and their sum less 2.
  const double degrees =
      variance * variance /
      (ofA.ofMean * ofA.ofMean / (ofA.count - 1) + ofB.ofMean * ofB.ofMean / (ofB.count - 1));
  const double off = studentT(degrees, tail) * std::sqrt(variance);
  return cost::MeanInterval{mean, mean - off, mean + off};
}

std::optional<cost::MeanInterval> pairedRatio(const std::vector<double>& a,
                                              const std::vector<double>& b, double tail) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!(a[i] > 0) || !(b[i] > 0)) {
      return std::nullopt;
    }
    ratios.push_back(std::log(b[i] / a[i]));
  }
  if (ratios.size() < 2) {
    return std::nullopt;
  }
  const RunMoments of = momentsOf(ratios);
  const double off = of.ofMean > 0 ? studentT(of.count - 1, tail) * std::sqrt(of.ofMean) : 0;
  return cost::MeanInterval{std::exp(of.mean), std::exp(of.mean - off), std::exp(of.mean + off)};
}

}  // namespace lockstep::analysis
