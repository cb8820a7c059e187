#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "engine/base/NumberText.h"
#include "engine/diagnosis/MostExposedBucket.h"
#include "engine/report/html/Markup.h"
#include "engine/report/html/Sections.h"
#include "engine/report/html/ShownRanks.h"

namespace lockstep::report::html {
namespace {

using analysis::BucketCell;
using analysis::BucketMeasure;

constexpr std::size_t kMostRanks = 16;
constexpr std::size_t kMostBuckets = 24;

std::optional<double> medianOf(const BucketCell& cell, BucketMeasure measure) {
  return cell.medianMs[static_cast<std::size_t>(measure)];
}

/// The buckets that are shown: all, or those that are exposed most on any rank; by number.
std::vector<int> shownBuckets(const analysis::BucketDelays& delays) {
  std::vector<int> buckets(static_cast<std::size_t>(delays.buckets));
  std::iota(buckets.begin(), buckets.end(), 0);
  if (buckets.size() > kMostBuckets) {
    std::vector<double> most(buckets.size());
    for (std::size_t row = 0; row < delays.ranks.size(); ++row) {
      for (const int bucket : buckets) {
        double& ms = most[static_cast<std::size_t>(bucket)];
        ms = std::max(ms, medianOf(delays.cell(row, bucket), BucketMeasure::kExposed).value_or(0));
      }
    }
    std::ranges::stable_sort(buckets, std::greater<>(),
                             [&](int bucket) { return most[static_cast<std::size_t>(bucket)]; });
    buckets.resize(kMostBuckets);
    std::ranges::sort(buckets);
  }
  return buckets;
}

/// "rank 1, bucket 5: exposed 7.20 ms a step; late 0.10 ms, waiting 0.30 ms, transfer 9.00 ms".
std::string cellText(const std::string& rank, int bucket, const BucketCell& cell) {
  const auto part = [&cell](const char* name, BucketMeasure measure) {
    const auto ms = medianOf(cell, measure);
    return ms ? fmt::format(", {} {} ms", name, base::msText(*ms)) : std::string();
  };
  return fmt::format("{}, bucket {}", rank, bucket) + part("exposed", BucketMeasure::kExposed) +
         part("late by", BucketMeasure::kLateness) + part("waiting", BucketMeasure::kWaiting) +
         part("transfer", BucketMeasure::kTransfer) + "; medians of a step";
}

}  // namespace

std::string bucketPicture(const Figures& of) {
  constexpr double kLeft = 150;
  constexpr double kWidth = 1100;
  constexpr double kRow = 26;
  const analysis::BucketDelays& delays = of.delays;
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
      most =
          std::max(most, medianOf(delays.cell(row, bucket), BucketMeasure::kExposed).value_or(0));
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
      const auto ms = medianOf(cell, BucketMeasure::kExposed);
      const double x = kLeft + column * static_cast<double>(j);
      svg += fmt::format(
          "<g><title>{}</title><rect class=\"heat\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" "
          "height=\"{:.0f}\" fill-opacity=\"{:.2f}\"/>",
          escaped(cellText(name, buckets[j], cell)), x + 1, y, column - 2, kRow - 2,
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
      diagnosis::textOf(diagnosis::bucketVerdict(delays, of.evidence.run)) +
      ". The cells: in ms a step, the median of the measured ones, communication of the bucket in "
      "flight while the rank does not compute. Buckets in flight together share it. ";
  if (buckets.size() < static_cast<std::size_t>(delays.buckets)) {
    about += fmt::format("Shown are the {} of {} that are exposed most. ", buckets.size(),
                         base::countedText(static_cast<std::uint64_t>(delays.buckets), "bucket"));
  }
  return figure("Exposed communication, by rank and bucket", about + shown.text(),
                fmt::format("<svg class=\"plot\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n{}"
                            "</svg>\n",
                            kWidth, 26 + kRow * static_cast<double>(rows.size()), svg));
}

}  // namespace lockstep::report::html
