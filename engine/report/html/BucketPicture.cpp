#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "engine/base/NumberText.h"
#include "engine/diagnosis/CostliestBucket.h"
#include "engine/report/html/Markup.h"
#include "engine/report/html/Sections.h"
#include "engine/report/html/ShownRanks.h"

namespace lockstep::report::html {
namespace {

using analysis::BucketCell;
using analysis::BucketDelays;
using analysis::BucketMeasure;

constexpr std::size_t kMostRanks = 16;
constexpr std::size_t kMostBuckets = 24;

/// What a bucket costs a rank, by its row; none: it was not communicated, or no step is measured.
std::optional<double> costOf(const BucketDelays& delays, std::size_t row, int bucket) {
  return delays.cell(row, bucket).measuredSteps == 0
             ? std::nullopt
             : delays.costs.meanMs(delays.ranks[row], static_cast<std::uint16_t>(bucket));
}

/// The buckets that are shown: all, or those that cost any rank most; by number.
std::vector<int> shownBuckets(const BucketDelays& delays) {
  std::vector<int> buckets(static_cast<std::size_t>(delays.buckets));
  std::iota(buckets.begin(), buckets.end(), 0);
  if (buckets.size() > kMostBuckets) {
    std::vector<double> most(buckets.size());
    for (std::size_t row = 0; row < delays.ranks.size(); ++row) {
      for (const int bucket : buckets) {
        double& ms = most[static_cast<std::size_t>(bucket)];
        ms = std::max(ms, costOf(delays, row, bucket).value_or(0));
      }
    }
    std::ranges::stable_sort(buckets, std::greater<>(),
                             [&](int bucket) { return most[static_cast<std::size_t>(bucket)]; });
    buckets.resize(kMostBuckets);
    std::ranges::sort(buckets);
  }
  return buckets;
}

/// "rank 1, bucket 5, cost 7.20 ms, exposed 9.10 ms, late by 0.10 ms, ..."
std::string cellText(const std::string& rank, int bucket, const BucketCell& cell,
                     std::optional<double> costMs) {
  const auto part = [](const char* name, std::optional<double> ms) {
    return ms ? fmt::format(", {} {} ms", name, base::msText(*ms)) : std::string();
  };
  const auto median = [&](const char* name, BucketMeasure measure) {
    return part(name, cell.medianMs[static_cast<std::size_t>(measure)]);
  };
  return fmt::format("{}, bucket {}", rank, bucket) + part("cost", costMs) +
         median("exposed", BucketMeasure::kExposed) + median("late by", BucketMeasure::kLateness) +
         median("waiting", BucketMeasure::kWaiting) + median("transfer", BucketMeasure::kTransfer) +
         "; of a step, the cost as a mean and the others as medians";
}

}  // namespace

std::string bucketPicture(const Figures& of) {
  constexpr double kLeft = 150;
  constexpr double kWidth = 1100;
  constexpr double kRow = 26;
  const BucketDelays& delays = of.delays;
  const ShownRanks shown = shownRanks(of.report, kMostRanks);
  const std::vector<int> buckets = shownBuckets(delays);
  double most = 0;
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < delays.ranks.size(); ++row) {
    if (!shown.holds(delays.ranks[row])) {
      continue;
    }
    rows.push_back(row);
    for (const int bucket : buckets) {
      most = std::max(most, costOf(delays, row, bucket).value_or(0));
    }
  }
  if (most <= 0) {
    return "";
  }
  const double column = std::min(120.0, (kWidth - kLeft) / static_cast<double>(buckets.size()));
  std::string svg;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"14\" text-anchor=\"middle\">{}{}</text>",
                       kLeft + column * (static_cast<double>(i) + 0.5),
                       column > 70 ? "bucket " : "b", buckets[i]);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double y = 22 + kRow * static_cast<double>(i);
    const std::string name = of.nameOf(delays.ranks[rows[i]]);
    svg += fmt::format("\n<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>", kLeft - 8,
                       y + 17, escaped(name));
    for (std::size_t j = 0; j < buckets.size(); ++j) {
      const BucketCell& cell = delays.cell(rows[i], buckets[j]);
      const auto ms = costOf(delays, rows[i], buckets[j]);
      const double x = kLeft + column * static_cast<double>(j);
      svg += fmt::format(
          "<g><title>{}</title><rect class=\"heat\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" "
          "height=\"{:.0f}\" fill-opacity=\"{:.2f}\"/>",
          escaped(cellText(name, buckets[j], cell, ms)), x + 1, y, column - 2, kRow - 2,
          ms ? 0.06 + 0.94 * *ms / most : 0);
      if (ms && column > 34) {
        svg += fmt::format(
            "<text class=\"{}\" x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>",
            *ms > 0.55 * most ? "on" : "off", x + column / 2, y + 17, base::msText(*ms));
      }
      svg += "</g>";
    }
  }
  std::string about =
      diagnosis::textOf(of.bucketVerdict) +
      ". The cells: in ms a step, the mean of the measured ones, communication of the bucket in "
      "flight while the rank does not compute, each moment given to one bucket. ";
  if (buckets.size() < static_cast<std::size_t>(delays.buckets)) {
    about += fmt::format("Shown are the {} of {} that cost most. ", buckets.size(),
                         base::countedText(static_cast<std::uint64_t>(delays.buckets), "bucket"));
  }
  return figure("What buckets cost, by rank and bucket", about + shown.text(),
                fmt::format("<svg class=\"plot\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n{}"
                            "</svg>\n",
                            kWidth, 26 + kRow * static_cast<double>(rows.size()), svg));
}

}  // namespace lockstep::report::html
