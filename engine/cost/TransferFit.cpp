#include "engine/cost/TransferFit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/cost/Sample.h"

namespace lockstep::cost {
namespace {

constexpr double kSizesDiffer = 2;
// The run's own line counts only where its error, in %, is smaller by this than that of the
// settings.
constexpr double kClearlyBetter = 10;

double expectedNs(const TransferSample& sample, const TransferCost& cost) {
  // A queued transfer is measured from the seen end of one to the seen end of the next: the notice
  // is in both and falls out.
  return cost.ns(sample.bytes) + (sample.queued ? 0 : cost.noticeNs);
}

double errorOf(const std::vector<TransferSample>& samples, const TransferCost& cost) {
  std::vector<double> errors;
  for (const TransferSample& sample : samples) {
    errors.push_back(100 * std::abs(sample.ns - expectedNs(sample, cost)) / sample.ns);
  }
  return median(std::move(errors)).value_or(0);
}

/// The middle of values, or 0 where chance may have put it above that (the notch of a box plot).
double surelyAbove0(std::vector<double> values) {
  const double spread = quantile(values, 0.75) - quantile(values, 0.25);
  const double doubt = 1.57 * spread / std::sqrt(static_cast<double>(values.size()));
  const double between = median(std::move(values)).value_or(0);
  return between > doubt ? between : 0;
}

/// Keeps the time a byte of the settings, and fits what comes on top of it.
TransferCost fitBeside(const std::vector<TransferSample>& samples, const KnownTransfer& known) {
  std::vector<double> alone;
  std::vector<double> queued;
  for (const TransferSample& sample : samples) {
    const double beyond =
        sample.ns - known.latencyNs - known.nsPerByte * static_cast<double>(sample.bytes);
    (sample.queued ? queued : alone).push_back(beyond);
  }
  TransferCost cost;
  cost.nsPerByte = known.nsPerByte;
  // Queued transfers show what each costs the line. One that found the line free has the notice in
  // it as well: what it takes beyond the overhead.
  const double overhead = surelyAbove0(std::move(queued));
  cost.latencyNs = known.latencyNs + overhead;
  cost.noticeNs = std::max(surelyAbove0(std::move(alone)) - overhead, 0.0);
  return cost;
}

/// The median of a size.
struct SizePoint {
  double bytes = 0;
  double ns = 0;
  double weight = 1;  ///< a size counts as often as it was measured
};

std::vector<SizePoint> sizePoints(const std::vector<TransferSample>& samples) {
  std::map<std::uint64_t, std::vector<double>> bySize;
  for (const TransferSample& sample : samples) {
    bySize[sample.bytes].push_back(sample.ns);
  }
  std::vector<SizePoint> points;
  for (const auto& [bytes, times] : bySize) {
    points.push_back(
        {static_cast<double>(bytes), median(times).value_or(0), static_cast<double>(times.size())});
  }
  return points;
}

/// The weighted median of the slopes between points; nothing where their sizes are alike.
std::optional<double> slopeOf(const std::vector<SizePoint>& points) {
  if (points.empty() || points.back().bytes < kSizesDiffer * points.front().bytes) {
    return std::nullopt;
  }
  std::vector<Weighted> slopes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      const double apart = points[j].bytes - points[i].bytes;
      slopes.push_back(
          // Points far apart tell a slope better: noise of 1 ms is 1 us a KiB over 1 MiB and 0.1 us
          // over 10.
          {(points[j].ns - points[i].ns) / apart, points[i].weight * points[j].weight * apart});
    }
  }
  return std::max(weightedMiddle(std::move(slopes)), 0.0);
}

/// A line through the medians of each size, with the slope of the probes where those are alike.
std::optional<TransferCost> fitLine(const std::vector<TransferSample>& samples,
                                    const std::vector<TransferSample>& probes) {
  const std::vector<SizePoint> points = sizePoints(samples);
  auto slope = slopeOf(points);
  slope = slope ? slope : slopeOf(sizePoints(probes));
  if (!slope) {
    return std::nullopt;
  }
  TransferCost cost;
  cost.nsPerByte = *slope;
  std::vector<Weighted> rests;
  std::vector<Weighted> ratios;
  for (const SizePoint& point : points) {
    rests.push_back({point.ns - cost.nsPerByte * point.bytes, point.weight});
    ratios.push_back({point.ns / point.bytes, point.weight});
  }
  cost.latencyNs = weightedMiddle(std::move(rests));
  // A line that would be below 0 at no bytes: then all is put down to the bytes.
  if (cost.latencyNs < 0) {
    cost.latencyNs = 0;
    cost.nsPerByte = weightedMiddle(std::move(ratios));
  }
  return cost;
}

void takeSizes(const std::vector<TransferSample>& samples, TransferFit& fit) {
  for (const TransferSample& sample : samples) {
    fit.leastBytes = std::min(fit.leastBytes, sample.bytes);
    fit.mostBytes = std::max(fit.mostBytes, sample.bytes);
  }
}

}  // namespace

std::optional<KnownTransfer> knownTransfer(const LinkOptions& link, int size, double share) {
  const LinkModel model(link, 0, size);
  if (size < 2 || model.slowest().bandwidthGbps <= 0) {
    return std::nullopt;
  }
  constexpr std::uint64_t kBytes = 1 << 20;
  const LinkModel::Cost one = model.cost(trace::Operation::kAllreduce, kBytes);
  return KnownTransfer{share * static_cast<double>(one.linkNs) / static_cast<double>(kBytes),
                       // The jitter is drawn evenly from 0 to jitterUs: half of it, in ns, is its
                       // mean.
                       static_cast<double>(one.latencyNs) + 500 * link.jitterUs};
}

std::optional<TransferCost> lineThrough(const std::vector<TransferSample>& samples) {
  if (const auto line = fitLine(samples, {})) {
    return line;
  }
  std::vector<double> ratios;
  for (const TransferSample& sample : samples) {
    ratios.push_back(sample.ns / static_cast<double>(sample.bytes));
  }
  const auto nsPerByte = median(std::move(ratios));
  return nsPerByte ? std::optional(TransferCost{0, *nsPerByte, 0}) : std::nullopt;
}

base::Result<TransferFit> fitTransfers(const std::vector<TransferSample>& samples,
                                       const std::optional<KnownTransfer>& known,
                                       const std::vector<TransferSample>& probes) {
  if (samples.empty()) {
    return base::Error{base::ExitCode::kBadInput,
                       "no transfer of a bucket was recorded by all ranks", ""};
  }
  TransferFit fit;
  fit.samples = samples.size();
  fit.leastBytes = samples.front().bytes;
  takeSizes(samples, fit);
  const auto line = fitLine(samples, probes);
  if (known) {
    fit.cost = fitBeside(samples, *known);
    fit.bySettings = true;
    fit.errorPercent = errorOf(samples, fit.cost);
    if (!line || fit.errorPercent <= errorOf(samples, *line) + kClearlyBetter) {
      return fit;
    }
  }
  if (!line) {
    return base::Error{
        base::ExitCode::kBadInput,
        fmt::format("its transfers are too alike in size to tell latency from bandwidth: {} to {}; "
                    "run it once with a ddp.bucket_cap_mb that makes unlike buckets",
                    base::bytesText(static_cast<double>(fit.leastBytes)),
                    base::bytesText(static_cast<double>(fit.mostBytes))),
        ""};
  }
  // The probe's sizes count as measured, but only for a line that it helped to find.
  takeSizes(probes, fit);
  fit.cost = *line;
  fit.bySettings = false;
  fit.errorPercent = errorOf(samples, fit.cost);
  return fit;
}

}  // namespace lockstep::cost
