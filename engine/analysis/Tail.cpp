#include "engine/analysis/Tail.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "engine/analysis/StepOverlap.h"
#include "engine/base/NumberText.h"

namespace lockstep::analysis {
namespace {

constexpr std::array<double TailItem::*, 6> kTimes{&TailItem::contextMs, &TailItem::wholeMs,
                                                   &TailItem::queueMs,   &TailItem::transferMs,
                                                   &TailItem::calls,     &TailItem::coreWaitMs};

std::string comesTo(const TailItem& item) {
  return item.severalBuckets               ? std::string("its collectives (mean)")
         : item.bucket == trace::kNoBucket ? std::string("a collective of no bucket")
                                           : fmt::format("bucket {}", item.bucket);
}

std::string whyLate(const TailItem& item) {
  const std::optional<double> readyLaterMs = item.readyLaterMs.ms();
  if (!readyLaterMs) {
    return "";
  }
  // Half of the lateness was there when its gradients were ready: then they are the reason.
  if (*readyLaterMs >= 0.5 * item.contextMs) {
    return fmt::format(": its gradients were ready {} ms later than on the rank that waited for it",
                       base::msText(*readyLaterMs));
  }
  return ", though its gradients were ready in time: its hook or its communication thread was late";
}

/// Where the time of a bucket went beside its computing: ": 1.20 ms behind earlier buckets and 4.00
/// ms of transfer".
std::string partsOf(const TailItem& item) {
  constexpr double kWorthAWord = 0.05;
  const double rest = item.wholeMs - item.queueMs - item.transferMs;
  std::string text = fmt::format("{} ms of transfer", base::msText(item.transferMs));
  if (item.queueMs > kWorthAWord * item.wholeMs) {
    text = fmt::format("{} ms behind earlier buckets, {}", base::msText(item.queueMs), text);
  }
  if (rest > kWorthAWord * item.wholeMs) {
    text +=
        fmt::format(", {} ms of copies, launch and waiting for other ranks", base::msText(rest));
  }
  return text;
}

/// Whether a step's transfers take their time whatever they carry.
/// A mean number of calls: below 1.5, most steps have one, and of one size nothing can be told.
bool isLatency(const TailItem& item) {
  const std::optional<double> latencyMs = item.latencyMs.ms();
  return item.calls >= 1.5 && latencyMs && *latencyMs >= 0.5 * item.transferMs;
}

std::string adviceFor(const TailItem& item) {
  const bool link = item.cause == TailCause::kSlowLink;
  const std::optional<double> latencyMs = item.latencyMs.ms();
  const char* const orFaster = link ? " or a faster link" : "";
  if (isLatency(item)) {
    return fmt::format(
        " {} ms of the transfers do not depend on the bytes. Fewer, larger buckets "
        "(bucket_cap_mb){} can help.",
        base::msText(*latencyMs), link ? " or a link of less latency" : "");
  }
  if (latencyMs) {
    return fmt::format(
        " Fewer bytes{} can help; of the transfers, {} ms do not depend on the bytes.", orFaster,
        base::msText(*latencyMs));
  }
  // Of one size alone what it costs whatever its size cannot be told from what its bytes cost.
  return item.calls < 1.5
             ? fmt::format(
                   " Fewer bytes{} can help if it is the bytes that take the time, which one "
                   "transfer a step cannot tell; synchronising fewer steps (no_sync) helps in any "
                   "case.",
                   orFaster)
             : fmt::format(
                   " Fewer bytes{} can help, and where a transfer costs much whatever its size, "
                   "larger buckets.",
                   orFaster);
}

std::string whyMuch(const TailItem& item) {
  constexpr double kWorthAWord = 0.1;
  const bool one = item.calls < 1.5;
  std::string text = fmt::format(
      "A step's {} {} {} ms, its backward computes {} ms: the rest no order of the buckets "
      "could hide.",
      one ? std::string("transfer") : fmt::format("{:.0f} transfers", item.calls),
      one ? "takes" : "take", base::msText(item.transferMs), base::msText(item.contextMs));
  if (item.telling) {
    text += adviceFor(item);
  }
  if (item.coreWaitMs > kWorthAWord * item.transferMs) {
    text += fmt::format(
        " The rank's step thread was ready and had no core for {} ms a step, so that the "
        "transfers alone may take less than that.",
        base::msText(item.coreWaitMs));
  }
  return text;
}

}  // namespace

// What makes two parts the same cause: a late rank and a slow link are so for every bucket, and
// where nobody is late it does not matter who was last.
TailSums::Key TailSums::keyOf(const TailItem& item) {
  const bool ofBucket =
      item.cause == TailCause::kLateBucket || item.cause == TailCause::kInOrderStall;
  const bool outside = item.cause == TailCause::kOutsideBuckets;
  const bool anyone = item.cause == TailCause::kNoCore ||
                      (item.cause == TailCause::kUnevenRanks && item.peer != kUnclearRank);
  return {item.cause, ofBucket ? item.bucket : trace::kNoBucket, anyone ? 0 : item.peer,
          outside ? item.operation : trace::Operation::kNone};
}

void TailSums::OptionalMean::add(const std::optional<double>& value) {
  if (value) {
    sum += *value;
    parts += 1;
  }
}

std::optional<double> TailSums::OptionalMean::mean() const {
  return parts > 0 ? std::optional(sum / parts) : std::nullopt;
}

void TailSums::Sum::add(const TailItem& item) {
  severalBuckets |= parts > 0 && item.bucket != reason.worst.bucket;
  if (parts == 0 || item.ms > reason.worst.ms) {
    reason.worst = item;
  }
  reason.steps += parts == 0 || item.step != lastStep ? 1 : 0;
  lastStep = item.step;
  parts += 1;
  reason.mean.ms += item.ms;
  for (const auto time : kTimes) {
    reason.mean.*time += item.*time;
  }
  readyLater.add(item.readyLaterMs.ms());
  latency.add(item.latencyMs.ms());
}

// The ms are over all measured steps, so that reasons add up to the mean exposed time; the other
// times over the steps in which it struck, since a lateness of 6 ms in every tenth step is no
// lateness of 0.6 ms. Texts and numbers that are no times are those of the worst part.
TailReason TailSums::Sum::finish(double totalMs, std::uint32_t measured) const {
  TailReason finished = reason;
  TailItem& mean = finished.mean = reason.worst;
  mean.ms = reason.mean.ms / measured;
  for (const auto time : kTimes) {
    mean.*time = reason.mean.*time / parts;
  }
  mean.readyLaterMs = readyLater.mean();
  mean.latencyMs = latency.mean();
  mean.severalBuckets = severalBuckets;
  finished.share = totalMs > 0 ? reason.mean.ms / totalMs : 0;
  return finished;
}

void TailSums::add(std::span<const StepOverlap> steps, std::uint32_t firstMeasured) {
  add(pointersTo(steps), firstMeasured);
}

void TailSums::add(std::span<const StepOverlap* const> steps, std::uint32_t firstMeasured) {
  std::vector<const StepOverlap*> measured;
  for (const StepOverlap* step : steps) {
    // A step without communication has no exposed time to explain, one without spans nothing to
    // explain it by, and neither dilutes the means.
    const StepTimes& times = step->times;
    if (times.step >= firstMeasured && !times.incomplete && times.overlapPercent &&
        trace::isTypical(times.kept)) {
      measured.push_back(step);
    }
  }
  // Step after step, whatever came together: so sums are the same to the last bit, and a step of
  // several ranks is counted once.
  std::stable_sort(
      measured.begin(), measured.end(),
      [](const StepOverlap* a, const StepOverlap* b) { return a->times.step < b->times.step; });
  measured_ += static_cast<std::uint32_t>(measured.size());
  for (const StepOverlap* step : measured) {
    for (const TailItem& item : step->tail) {
      sums_[keyOf(item)].add(item);
      totalMs_ += item.ms;
    }
  }
}

std::vector<TailReason> TailSums::reasons() const {
  std::vector<TailReason> reasons;
  for (const auto& [key, sum] : sums_) {
    reasons.push_back(sum.finish(totalMs_, measured_));
  }
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const TailReason& a, const TailReason& b) { return a.mean.ms > b.mean.ms; });
  return reasons;
}

std::span<const StepOverlap> ofRank(std::span<const StepOverlap> steps, int rank) {
  const auto range = std::ranges::equal_range(
      steps, rank, {}, [](const StepOverlap& step) { return step.times.rank; });
  return {range.begin(), range.end()};
}

std::vector<TailReason> tailReasons(std::span<const StepOverlap> steps, std::uint32_t firstMeasured,
                                    std::optional<int> rank) {
  TailSums sums;
  sums.add(rank ? ofRank(steps, *rank) : steps, firstMeasured);
  return sums.reasons();
}

std::string_view name(TailCause cause) {
  switch (cause) {
    case TailCause::kLateBucket:
      return "late bucket";
    case TailCause::kInOrderStall:
      return "in-order stall";
    case TailCause::kMuchTransfer:
      return "much transfer";
    case TailCause::kSlowLink:
      return "slow link";
    case TailCause::kLateRank:
      return "late rank";
    case TailCause::kUnevenRanks:
      return "uneven ranks";
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
    case TailCause::kLateRank:
      return fmt::format("late rank {}", item.peer);
    case TailCause::kUnevenRanks:
      return item.peer == kUnclearRank ? "uneven ranks, unclear which" : "uneven ranks";
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
          "Bucket {} was ready when the backward had {} ms of computing left, and reduced "
          "{} ms later: {}.",
          item.bucket, base::msText(item.contextMs), base::msText(item.wholeMs), partsOf(item));
    case TailCause::kInOrderStall:
      return fmt::format(
          "Bucket {} was ready {} ms before it was launched: bucket {} ahead of it was not "
          "ready on this rank.",
          item.bucket, base::msText(item.contextMs), item.ahead);
    case TailCause::kMuchTransfer:
    case TailCause::kSlowLink:
      return whyMuch(item);
    case TailCause::kLateRank:
      return fmt::format("Rank {} came {} ms later to {}{}.", item.peer,
                         base::msText(item.contextMs), comesTo(item), whyLate(item));
    case TailCause::kUnevenRanks:
      return fmt::format("The last rank came {} ms later: {}", base::msText(item.contextMs),
                         item.peer == kUnclearRank
                             ? "on different hosts, whose clocks are not known well enough to tell "
                               "which that was."
                         : item.judged
                             ? "over the run no rank is late beyond chance."
                             : "whether one is always late takes more iterations to tell.");
    case TailCause::kNoCore:
      return fmt::format(
          "This rank, or the one that it waited for, was ready to run for {} ms a step and had "
          "no core: more threads want to run than there are cores for them.",
          base::msText(item.contextMs));
    case TailCause::kOutsideBuckets:
      return fmt::format(
          "The {} belongs to no bucket (it may carry buffers, batch statistics or sharded "
          "parameters, or be a call of the script or of a hook), and the step waits for it.",
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

std::string_view accused(const TailItem& item) {
  switch (item.cause) {
    case TailCause::kLateRank:
      return "rank";
    case TailCause::kSlowLink:
      return "link";
    case TailCause::kMuchTransfer:
      return item.telling && isLatency(item) ? "setting" : "";
    default:
      return "";
  }
}

}  // namespace lockstep::analysis
