#include "ui/views/timeline/LatencyHistogram.h"

#include <algorithm>
#include <cmath>

namespace lockstep::ui {
namespace {

constexpr double kSmallestMs = 0.1;
constexpr double kBucketsAnOctave = 4;

}  // namespace

void LatencyHistogram::add(double ms) {
  const double octaves = std::log2(std::max(ms, kSmallestMs) / kSmallestMs);
  const int bucket = std::min(static_cast<int>(octaves * kBucketsAnOctave), kBuckets - 1);
  ++buckets_[static_cast<std::size_t>(bucket)];
  ++count_;
  maximum_ = std::max(maximum_, ms);
}

void LatencyHistogram::clear() { *this = LatencyHistogram(); }

double LatencyHistogram::percentileMs(double fraction) const {
  if (count_ == 0) {
    return 0;
  }
  const double wanted = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(count_);
  double seen = 0;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    seen += static_cast<double>(buckets_[static_cast<std::size_t>(bucket)]);
    if (seen >= wanted && seen > 0) {
      // The upper edge: never promises less than what was measured.
      return std::min(kSmallestMs * std::exp2((bucket + 1) / kBucketsAnOctave), maximum_);
    }
  }
  return maximum_;
}

}  // namespace lockstep::ui
