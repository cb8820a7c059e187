#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "engine/analysis/Compare.h"
#include "engine/base/NumberText.h"

namespace lockstep::analysis {
namespace {

constexpr double kLeastMs = 0.001;

/// What a run's mean step is made of.
struct Means {
  std::map<CauseKey, double> ms;
  std::map<CauseKey, Reason::Place> places;
};

/// `groupOf` by bucket: what its key has for a bucket.
// Note [Why a step is longer]
// stepCauses cuts each step of a rank into parts that add up to it, each under a key of cause,
// bucket and the rank that was waited for. The mean of a key is over all steps of all ranks, those
// without it included, so the means of a run add up to its mean step, and the differences of two
// runs, key by key, to the difference of their mean steps. For that, both sides must have the same
// keys: where the buckets differ, a key has the number of a group of buckets instead (Note [Aligned
// buckets]).
//
//       key                  A         B
//       computing           8.00      8.10     +0.10
//       transfer, bucket 2  1.20      3.10     +1.90
//       waiting for rank 1  0         0.40     +0.40     only in B
//       mean step           9.20     11.60     +2.40

Means meansOf(const RunToCompare& run, const std::function<std::uint16_t(std::uint16_t)>& groupOf) {
  std::vector<StepCauses> steps = stepCauses(*run.data, *run.analysis);
  Means means;
  for (StepCauses& step : steps) {
    for (CauseTime& part : step.parts) {
      part.key.bucket = groupOf(part.key.bucket);
      means.ms[part.key] += part.ms / static_cast<double>(steps.size());
    }
  }
  // A step to look at for each key: the one in which it costs most nearly its mean. The worst step
  // would show an exception.
  std::map<CauseKey, double> nearest;
  for (const StepCauses& step : steps) {
    // Buckets of one group have the same key by now.
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

/// How the buckets of two runs are put together (Note [Aligned buckets]), and spoken of. A key has
/// the number of a bucket where the layouts are the same, and that of a group where they are not.
class Buckets {
 public:
  Buckets(BucketAlignment aligned, std::string letter)
      : aligned_(std::move(aligned)), letter_(std::move(letter)) {}

  [[nodiscard]] std::uint16_t groupOf(std::uint16_t bucket, bool ofA) const {
    if (aligned_.same) {
      return bucket;
    }
    for (std::size_t group = 0; isInGroups() && group < aligned_.groups.size(); ++group) {
      const BucketGroup& of = aligned_.groups[group];
      const auto& members = ofA ? of.inA : of.inB;
      if (std::find(members.begin(), members.end(), bucket) != members.end()) {
        return static_cast<std::uint16_t>(group);
      }
    }
    return trace::kNoBucket;
  }

  /// The buckets that a key's number stands for; none where it is that of a bucket, or of all.
  [[nodiscard]] BucketGroup membersOf(std::uint16_t group) const {
    return !aligned_.same && isInGroups() && group != trace::kNoBucket ? aligned_.groups[group]
                                                                       : BucketGroup{};
  }

  [[nodiscard]] std::string name(std::uint16_t group) const {
    if (!aligned_.same && !isInGroups()) {
      return fmt::format("all buckets ({} in A, {} in {})", aligned_.countA, aligned_.countB,
                         letter_);
    }
    if (group == trace::kNoBucket) {
      return "what has no bucket";
    }
    if (aligned_.same) {
      return numbered({group});
    }
    const BucketGroup& members = aligned_.groups[group];
    return members.inA == members.inB ? numbered(members.inA)
                                      : fmt::format("{} of A ({} of {})", numbered(members.inA),
                                                    numbered(members.inB), letter_);
  }

 private:
  [[nodiscard]] bool isInGroups() const { return aligned_.groups.size() > 1; }

  static std::string numbered(const std::vector<std::uint16_t>& buckets) {
    return base::numberedText("bucket", {buckets.begin(), buckets.end()});
  }

  BucketAlignment aligned_;
  std::string letter_;
};

std::string subjectOf(const CauseKey& key, const Buckets& buckets) {
  const std::string bucket = buckets.name(key.bucket);
  switch (key.cause) {
    case Cause::kComputing:
      return "Computing";
    case Cause::kNoCoreInFlight:
      return "Having no core, communication in flight,";
    case Cause::kNoCore:
      return "Having no core";
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

std::string moreOrLess(double deltaMs) {
  return fmt::format("{} ms {}", base::msText(std::abs(deltaMs)), deltaMs < 0 ? "less" : "more");
}

std::string sentenceOf(const Reason& reason, const Buckets& buckets) {
  return fmt::format("{} takes {} a step ({} \u2192 {} ms).", subjectOf(reason.key, buckets),
                     moreOrLess(reason.deltaMs), base::msText(reason.msA), base::msText(reason.ms));
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
      letter, moreOrLess(why.stepDeltaMs), base::msText(msA), base::msText(ms),
      moreOrLess(why.exposedDeltaMs), moreOrLess(computingDelta),
      moreOrLess(why.stepDeltaMs - why.exposedDeltaMs - computingDelta));
}

/// From this share of a step on, waits for a core are worth a word.
constexpr double kMuchWithoutCore = 0.01;

/// Of a run that knows its waits for a core, beside one that does not; empty: they are short.
std::string coreWaitNote(const std::string& knows, const Means& means, double stepMs,
                         const std::string& doesNot) {
  double ms = 0;
  for (const auto& [key, part] : means.ms) {
    ms += key.cause == Cause::kNoCore || key.cause == Cause::kNoCoreInFlight ? part : 0;
  }
  if (ms < kMuchWithoutCore * stepMs) {
    return {};
  }
  return fmt::format(
      " {} had no core for {} ms a step; of {} that is not known and counts as computing, so that "
      "their overlap and exposed communication are not alike.",
      knows, base::msText(ms), doesNot);
}

}  // namespace

Why whyDifferent(const RunToCompare& a, const RunToCompare& b, const std::string& letter) {
  Why why;
  const BucketAlignment aligned = alignBuckets(a, b, letter);
  why.perBucket = aligned.same;
  const Buckets buckets(aligned, letter);
  const Means meansA =
      meansOf(a, [&](std::uint16_t bucket) { return buckets.groupOf(bucket, true); });
  const Means meansB =
      meansOf(b, [&](std::uint16_t bucket) { return buckets.groupOf(bucket, false); });
  if (meansA.ms.empty() || meansB.ms.empty()) {
    why.summary = fmt::format(
        "Run {} has no measured iteration, so that there is nothing to set "
        "against the other.",
        meansA.ms.empty() ? "A" : letter);
    return why;
  }

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
    // It counts in the sums above all the same.
    if (std::abs(reason.deltaMs) < kLeastMs) {
      continue;
    }
    reason.sentence = sentenceOf(reason, buckets);
    reason.buckets = buckets.membersOf(key.bucket);
    if (!aligned.same) {
      const auto& [inA, inB] = reason.buckets;
      // Outside, a key names a bucket and no group: one that both runs number alike, or none.
      reason.key.bucket = inA.size() == 1 && inA == inB ? inA.front() : trace::kNoBucket;
    }
    reason.placeInA = valueAt(meansA.places, key);
    reason.place = valueAt(meansB.places, key);
    why.reasons.push_back(std::move(reason));
  }
  std::stable_sort(why.reasons.begin(), why.reasons.end(), [](const Reason& x, const Reason& y) {
    return std::abs(x.deltaMs) > std::abs(y.deltaMs);
  });
  why.stepDeltaMs = stepB - stepA;
  why.summary = summaryOf(why, stepA, stepB, computingDelta, letter);
  if (!aligned.sentence.empty()) {
    why.summary += " " + aligned.sentence;
  }
  if (a.settings.coreWaits != b.settings.coreWaits) {
    why.summary += a.settings.coreWaits ? coreWaitNote("A", meansA, stepA, letter)
                                        : coreWaitNote(letter, meansB, stepB, "A");
  }
  return why;
}

}  // namespace lockstep::analysis
