#include "engine/capture/LeftOut.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/NumberText.h"
#include "engine/capture/KeptSamples.h"

namespace lockstep::capture {
namespace {

constexpr std::size_t kNamed = 5;

}  // namespace

void LeftOut::count(std::uint32_t step, const std::vector<int>& unlike, bool sumsOnly) {
  ++steps_;
  sumsOnly_ += sumsOnly ? 1 : 0;
  if (unlike.empty()) {
    return;
  }
  ++unlike_;
  if (firstUnlike_.size() < kNamed) {
    firstUnlike_.push_back(fmt::format("{} ({})", step, base::ranksText(unlike)));
  }
}

std::string LeftOut::unlikeText() const {
  if (unlike_ == 0) {
    return "unlike the rest: none";
  }
  return fmt::format("unlike the rest, {}: {}{}", base::countText(unlike_),
                     fmt::join(firstUnlike_, ", "), unlike_ > kNamed ? ", ..." : "");
}

std::string LeftOut::text() const {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (options_.detail == Detail::kSteps && steps_ > 0) {
    add("steps have their phases, buckets and collectives, and no single gradients, copies and "
        "waits "
        "(capture.detail = steps)");
  }
  if (options_.detail == Detail::kOutliers && sumsOnly_ > 0) {
    add(fmt::format(
        "of {} of {} steps there are sums alone (capture.detail = outliers): all is "
        "there of the first {}, of every {}th, and of those {}",
        base::countText(sumsOnly_), base::countText(steps_), kFirst, kEvery, unlikeText()));
    add(fmt::format(
        "of losses there is every {}th, and of samples of parameters and gradients every "
        "{}th, and all that are not finite or differ",
        kLossEvery, KeptSamples::kEvery));
  }
  if (sumsFrom_) {
    add(fmt::format(
        "from step {} on there are sums alone, since the file came near its limit of {} "
        "(capture.limit_mb)",
        *sumsFrom_, base::bytesText(options_.limitBytes)));
  }
  if (nothingFrom_) {
    add(fmt::format("from step {} on there is nothing, since it came to that limit",
                    *nothingFrom_));
  }
  return text;
}

}  // namespace lockstep::capture
