#include "engine/analysis/Tail.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "engine/analysis/StepOverlap.h"

namespace lockstep::analysis {
namespace {

using TailKey = std::tuple<TailCause, std::uint16_t, int, trace::Operation>;

// What makes two parts the same cause: a slow rank and a slow link are so for every bucket.
TailKey keyOf(const TailItem& item) {
  const bool ofBucket =
      item.cause == TailCause::kLateBucket || item.cause == TailCause::kInOrderStall;
  const bool outside = item.cause == TailCause::kOutsideBuckets;
  return {item.cause, ofBucket ? item.bucket : trace::kNoBucket, item.peer,
          outside ? item.operation : trace::Operation::kNone};
}

struct Sum {
  TailReason reason;
  std::uint32_t parts = 0;
  std::uint32_t compared = 0;  // parts with readyLaterMs
  double readyLaterMs = 0;
  std::set<std::uint32_t> steps;

  void add(const TailItem& item) {
    if (parts == 0 || item.ms > reason.worst.ms) {
      reason.worst = item;
    }
    parts += 1;
    steps.insert(item.step);
    reason.mean.ms += item.ms;
    reason.mean.contextMs += item.contextMs;
    reason.mean.transferMs += item.transferMs;
    if (item.readyLaterMs) {
      compared += 1;
      readyLaterMs += *item.readyLaterMs;
    }
  }

  TailReason finish(double totalMs, std::uint32_t measured) {
    TailItem mean = reason.worst;
    mean.ms = reason.mean.ms / measured;
    mean.contextMs = reason.mean.contextMs / parts;
    mean.transferMs = reason.mean.transferMs / parts;
    mean.readyLaterMs = compared > 0 ? std::optional(readyLaterMs / compared) : std::nullopt;
    reason.share = reason.mean.ms / totalMs;
    reason.steps = static_cast<std::uint32_t>(steps.size());
    reason.mean = mean;
    return std::move(reason);
  }
};

std::string bucketName(std::uint16_t bucket) {
  return bucket == trace::kNoBucket ? std::string("a collective of no bucket")
                                    : fmt::format("bucket {}", bucket);
}

std::string whyLate(const TailItem& item) {
  if (!item.readyLaterMs) {
    return "";
  }
  if (*item.readyLaterMs >= 0.5 * item.contextMs) {
    return fmt::format(": its gradients were ready {:.2f} ms later than here", *item.readyLaterMs);
  }
  return ", though its gradients were ready in time: its hook or its communication thread was late";
}

}  // namespace

std::vector<TailReason> tailReasons(const std::vector<StepOverlap>& steps,
                                    std::uint32_t firstMeasured, std::optional<int> rank) {
  std::map<TailKey, Sum> sums;
  std::uint32_t measured = 0;
  double totalMs = 0;
  for (const StepOverlap& step : steps) {
    if (step.times.step < firstMeasured || step.times.incomplete || !step.times.overlapPercent ||
        (rank && step.times.rank != *rank)) {
      continue;
    }
    measured += 1;
    for (const TailItem& item : step.tail) {
      sums[keyOf(item)].add(item);
      totalMs += item.ms;
    }
  }
  std::vector<TailReason> reasons;
  for (auto& [key, sum] : sums) {
    reasons.push_back(sum.finish(totalMs, measured));
  }
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const TailReason& a, const TailReason& b) { return a.mean.ms > b.mean.ms; });
  return reasons;
}

std::string_view name(TailCause cause) {
  switch (cause) {
    case TailCause::kLateBucket:
      return "late bucket";
    case TailCause::kInOrderStall:
      return "in-order stall";
    case TailCause::kSlowLink:
      return "slow link";
    case TailCause::kSlowRank:
      return "slow rank";
    case TailCause::kNoCore:
      return "no core";
    case TailCause::kOutsideBuckets:
      return "outside the buckets";
    case TailCause::kCopies:
      return "copies between devices";
    case TailCause::kUnknown:
      break;
  }
  return "unknown";
}

std::string title(const TailItem& item) {
  switch (item.cause) {
    case TailCause::kLateBucket:
      return fmt::format("late bucket {}", item.bucket);
    case TailCause::kInOrderStall:
      return fmt::format("bucket {} behind bucket {}", item.bucket, item.ahead);
    case TailCause::kSlowRank:
      return item.peer == kUnclearRank ? "slow rank, unclear which"
                                       : fmt::format("slow rank {}", item.peer);
    case TailCause::kOutsideBuckets:
      return fmt::format("{} outside the buckets", trace::name(item.operation));
    default:
      return std::string(name(item.cause));
  }
}

std::string explanation(const TailItem& item) {
  switch (item.cause) {
    case TailCause::kLateBucket:
      return fmt::format(
          "Bucket {} was ready when the backward had {:.2f} ms of computing left, too little to "
          "hide its transfer of {:.2f} ms.",
          item.bucket, item.contextMs, item.transferMs);
    case TailCause::kInOrderStall:
      return fmt::format(
          "Bucket {} was ready {:.2f} ms before it was launched: bucket {} ahead of it was not "
          "ready on this rank.",
          item.bucket, item.contextMs, item.ahead);
    case TailCause::kSlowLink:
      return fmt::format(
          "A step's transfers take {:.2f} ms, its backward computes {:.2f} ms: only fewer bytes or "
          "a "
          "faster link can help.",
          item.transferMs, item.contextMs);
    case TailCause::kSlowRank:
      if (item.peer == kUnclearRank) {
        return fmt::format(
            "The last ranks came {:.2f} ms later to {}; they are on different hosts, whose clocks "
            "are not known well enough to tell which was last.",
            item.contextMs, bucketName(item.bucket));
      }
      return fmt::format("Rank {} came {:.2f} ms later to {}{}.", item.peer, item.contextMs,
                         bucketName(item.bucket), whyLate(item));
    case TailCause::kNoCore:
      return fmt::format(
          "The rank was ready to compute for {:.2f} ms a step and had no core: more threads run on "
          "its host than cores.",
          item.contextMs);
    case TailCause::kOutsideBuckets:
      return fmt::format(
          "The {} belongs to no bucket (buffers, batch statistics, a hook around the step), and "
          "the step waits for it.",
          trace::name(item.operation));
    case TailCause::kCopies:
      return "DataParallel copies inputs, parameters, outputs and gradients between its devices, "
             "and nothing computes meanwhile.";
    case TailCause::kUnknown:
      break;
  }
  return "Waiting and transfer cannot be told apart here: it is a send or a receive, or a rank has "
         "no record of the collective.";
}

}  // namespace lockstep::analysis
