#include "engine/diagnosis/ExposedBuckets.h"

#include <algorithm>

#include "engine/trace/Event.h"

namespace lockstep::diagnosis {

void ExposedBuckets::add(std::span<const analysis::StepOverlap> steps,
                         std::uint32_t firstMeasured) {
  for (const analysis::StepOverlap& step : steps) {
    const analysis::StepTimes& times = step.times;
    if (times.step < firstMeasured || times.incomplete || !trace::isTypical(times.kept)) {
      continue;
    }
    steps_[times.rank] += 1;
    for (const analysis::TailItem& item : step.tail) {
      if (item.bucket == trace::kNoBucket) {
        continue;
      }
      Part& part = parts_[{times.rank, item.bucket}][item.cause];
      part.ms += item.ms;
      if (item.ms > part.worst.ms) {
        part.worst = item;
      }
    }
  }
}

std::optional<ExposedBucket> ExposedBuckets::most() const {
  std::optional<ExposedBucket> most;
  for (const auto& [place, causes] : parts_) {
    double ms = 0;
    const Part* largest = nullptr;
    for (const auto& [cause, part] : causes) {
      ms += part.ms;
      largest = largest == nullptr || part.ms > largest->ms ? &part : largest;
    }
    ms /= steps_.at(place.first);
    if (largest != nullptr && ms > (most ? most->ms : 0)) {
      most = {place.first, place.second, ms, largest->worst};
    }
  }
  return most;
}

}  // namespace lockstep::diagnosis
