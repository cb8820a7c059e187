#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/analysis/Compare.h"

namespace lockstep::analysis {
namespace {

constexpr double kLeastMs = 0.001;

/// The layout that the measured steps used, or none.
const trace::BucketsMessage* layoutInForce(const RunToCompare& run) {
  const trace::BucketsMessage* found = nullptr;
  for (const trace::BucketsMessage& layout : run.data->layouts) {
    if (layout.step <= run.analysis->warmUp.firstMeasured &&
        (found == nullptr || layout.step >= found->step)) {
      found = &layout;
    }
  }
  return found;
}

std::size_t bucketCount(const RunToCompare& run) {
  const trace::BucketsMessage* layout = layoutInForce(run);
  return layout == nullptr ? 0 : layout->buckets.size();
}

bool sameBuckets(const RunToCompare& a, const RunToCompare& b) {
  const trace::BucketsMessage* layoutA = layoutInForce(a);
  const trace::BucketsMessage* layoutB = layoutInForce(b);
  if (layoutA == nullptr || layoutB == nullptr) {
    return layoutA == layoutB;
  }
  return std::equal(layoutA->buckets.begin(), layoutA->buckets.end(), layoutB->buckets.begin(),
                    layoutB->buckets.end(), [](const auto& x, const auto& y) {
                      return x.parameters == y.parameters && x.bytes == y.bytes;
                    });
}

/// What a run's mean step is made of.
struct Means {
  std::map<CauseKey, double> ms;
  std::map<CauseKey, Reason::Place> places;
};

Means meansOf(const RunToCompare& run, bool perBucket) {
  std::vector<StepCauses> steps = stepCauses(*run.data, *run.analysis);
  Means means;
  for (StepCauses& step : steps) {
    for (CauseTime& part : step.parts) {
      if (!perBucket) {
        part.key.bucket = trace::kNoBucket;
      }
      means.ms[part.key] += part.ms / static_cast<double>(steps.size());
    }
  }
  std::map<CauseKey, double> nearest;
  for (const StepCauses& step : steps) {
    std::map<CauseKey, double> here;
    for (const CauseTime& part : step.parts) {
      here[part.key] += part.ms;
    }
    for (const auto& [key, ms] : here) {
      const double off = std::abs(ms - means.ms[key]);
      const auto [at, first] = nearest.try_emplace(key, off);
      if (first || off < at->second) {
        at->second = off;
        means.places[key] = {step.rank, step.step};
      }
    }
  }
  return means;
}

/// How buckets are spoken of: one by its number, or all together.
struct Buckets {
  bool each = true;
  std::string counts;  ///< "(4 in A, 7 in B)"

  [[nodiscard]] std::string of(std::uint16_t bucket) const {
    return !each                        ? "all buckets " + counts
           : bucket == trace::kNoBucket ? "what has no bucket"
                                        : fmt::format("bucket {}", bucket);
  }
};

std::string subjectOf(const CauseKey& key, const Buckets& buckets) {
  const std::string bucket = buckets.of(key.bucket);
  switch (key.cause) {
    case Cause::kComputing:
      return "Computing";
    case Cause::kNoCoreInFlight:
      return "Being ready without a core, communication in flight,";
    case Cause::kNoCore:
      return "Being ready without a core";
    case Cause::kTransfer:
      return "Exposed transfer of " + bucket;
    case Cause::kWaiting:
      return key.waitedFor < 0
                 ? fmt::format("Exposed waiting for a rank, unclear which, in {}", bucket)
                 : fmt::format("Exposed waiting for rank {} in {}", key.waitedFor, bucket);
    case Cause::kCommunicating:
      return fmt::format("Exposed communication of {}, waiting and transfer together,", bucket);
    case Cause::kEncode:
      return fmt::format("Encoding of {} by the hook", bucket);
    case Cause::kDecode:
      return fmt::format("Decoding of {} by the hook", bucket);
    case Cause::kLaunchDelay:
      return fmt::format("Launch of {} once it is ready", bucket);
    case Cause::kOther:
      break;
  }
  return "All else (data, copies, bookkeeping)";
}

/// Two digits after the dot, or three for what would hardly have any.
std::string msText(double ms) {
  if (ms == 0) {
    return "0";
  }
  return std::abs(ms) < 0.0995 ? fmt::format("{:.3f}", ms) : fmt::format("{:.2f}", ms);
}

std::string moreOrLess(double deltaMs) {
  return fmt::format("{} ms {}", msText(std::abs(deltaMs)), deltaMs < 0 ? "less" : "more");
}

std::string sentenceOf(const Reason& reason, const Buckets& buckets) {
  return fmt::format("{} takes {} a step ({} \u2192 {} ms).", subjectOf(reason.key, buckets),
                     moreOrLess(reason.deltaMs), msText(reason.msA), msText(reason.ms));
}

template <typename Value>
std::optional<Value> valueAt(const std::map<CauseKey, Value>& map, const CauseKey& key) {
  const auto at = map.find(key);
  return at == map.end() ? std::nullopt : std::optional(at->second);
}

std::string summaryOf(const Why& why, double msA, double ms, double computingDelta,
                      const std::string& letter) {
  return fmt::format(
      "{}'s mean step takes {} than A's ({} \u2192 {} ms): exposed communication {}, computing "
      "{}, the rest {}.",
      letter, moreOrLess(why.stepDeltaMs), msText(msA), msText(ms), moreOrLess(why.exposedDeltaMs),
      moreOrLess(computingDelta),
      moreOrLess(why.stepDeltaMs - why.exposedDeltaMs - computingDelta));
}

}  // namespace

Why whyDifferent(const RunToCompare& a, const RunToCompare& b, const std::string& letter) {
  Why why;
  why.perBucket = sameBuckets(a, b);
  const Means meansA = meansOf(a, why.perBucket);
  const Means meansB = meansOf(b, why.perBucket);
  if (meansA.ms.empty() || meansB.ms.empty()) {
    why.summary = fmt::format(
        "Run {} has no measured iteration, so that there is nothing to set "
        "against the other.",
        meansA.ms.empty() ? "A" : letter);
    return why;
  }
  Buckets buckets;
  buckets.each = why.perBucket;
  buckets.counts = fmt::format("({} in A, {} in {})", bucketCount(a), bucketCount(b), letter);

  std::set<CauseKey> keys;
  for (const auto& [key, ms] : meansA.ms) {
    keys.insert(key);
  }
  for (const auto& [key, ms] : meansB.ms) {
    keys.insert(key);
  }
  double stepA = 0;
  double stepB = 0;
  double computingDelta = 0;
  for (const CauseKey& key : keys) {
    Reason reason;
    reason.key = key;
    reason.msA = valueAt(meansA.ms, key).value_or(0);
    reason.ms = valueAt(meansB.ms, key).value_or(0);
    reason.deltaMs = reason.ms - reason.msA;
    stepA += reason.msA;
    stepB += reason.ms;
    why.exposedDeltaMs += isExposed(key.cause) ? reason.deltaMs : 0;
    computingDelta += key.cause == Cause::kComputing ? reason.deltaMs : 0;
    if (std::abs(reason.deltaMs) < kLeastMs) {
      continue;
    }
    reason.sentence = sentenceOf(reason, buckets);
    reason.placeInA = valueAt(meansA.places, key);
    reason.place = valueAt(meansB.places, key);
    why.reasons.push_back(std::move(reason));
  }
  std::stable_sort(why.reasons.begin(), why.reasons.end(), [](const Reason& x, const Reason& y) {
    return std::abs(x.deltaMs) > std::abs(y.deltaMs);
  });
  why.stepDeltaMs = stepB - stepA;
  why.summary = summaryOf(why, stepA, stepB, computingDelta, letter);
  return why;
}

}  // namespace lockstep::analysis
