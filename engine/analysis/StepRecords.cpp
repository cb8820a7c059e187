#include "engine/analysis/StepRecords.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/analysis/Intervals.h"
#include "engine/analysis/RankActivity.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;

constexpr std::uint16_t kWhatIsCopied = 0x7FFF;  // of the detail; above it: by whose clock

/// What one rank's spans say of a step besides its buckets.
struct SpansOfStep {
  std::optional<trace::SpanRow> step;
  std::optional<std::uint64_t> backwardTicks;
  std::optional<std::uint64_t> waitsTicks;
  std::map<std::uint32_t, std::uint64_t> copiedTicks;  // by parameter: end of its copy-in
  std::uint64_t wholeCopyTicks = 0;
  std::uint64_t wholeCopyBytes = 0;
  ActivityPieces activity;  // to tell when the rank computed
};

void addCopyIn(const trace::SpanRow& span, SpansOfStep& spans) {
  if ((span.detail & kWhatIsCopied) == trace::kWholeBucket) {
    spans.wholeCopyTicks += span.durationTicks;
    spans.wholeCopyBytes += span.value;
  } else {
    spans.copiedTicks[static_cast<std::uint32_t>(span.value)] =
        span.startTicks + span.durationTicks;
  }
}

SpansOfStep spansOf(const RankSpans& rank, std::uint32_t step, double nsPerTick) {
  SpansOfStep spans;
  for (const trace::SpanRow& span : rank.spans) {
    if (span.step != step) {
      continue;
    }
    spans.activity.add(span, nsPerTick);
    switch (span.kind) {
      case EventKind::kStep:
        spans.step = span;
        break;
      case EventKind::kBackward:
        spans.backwardTicks = span.startTicks;
        break;
      case EventKind::kWait:
      case EventKind::kFinalize:
        // The first of them: from then on the step thread does nothing but take results.
        spans.waitsTicks = std::min(spans.waitsTicks.value_or(span.startTicks), span.startTicks);
        break;
      case EventKind::kCopyIn:
        addCopyIn(span, spans);
        break;
      default:
        break;
    }
  }
  return spans;
}

double orNoTime(const StepAxis& axis, const std::optional<std::uint64_t>& ticks) {
  return ticks ? axis.ns(*ticks) : cost::kNoTime;
}

cost::RankStep rankStep(const ReadyOrder& order, const SpansOfStep& spans, const StepAxis& axis) {
  cost::RankStep rank;
  rank.rank = order.rank;
  rank.beginNs = axis.ns(spans.step->startTicks);
  rank.endNs = axis.ns(spans.step->startTicks + spans.step->durationTicks);
  rank.backwardBeginNs = orNoTime(axis, spans.backwardTicks);
  // Gradients are by time. Computing ends with the last one (Note [Overlap]), and the step thread
  // cannot begin to wait before it.
  const std::uint64_t last = order.gradients.back().ticks;
  rank.lastGradientNs = axis.ns(last);
  rank.waitsNs = axis.ns(std::max(last, spans.waitsTicks.value_or(last)));
  if (spans.wholeCopyBytes > 0) {
    rank.wholeCopyNsPerByte = static_cast<double>(spans.wholeCopyTicks) * axis.nsPerTick /
                              static_cast<double>(spans.wholeCopyBytes);
  }
  for (const ReadyGradient& gradient : order.gradients) {
    if (gradient.parameter >= rank.filledNs.size()) {
      rank.filledNs.resize(gradient.parameter + 1, cost::kNoTime);
    }
    const auto copied = spans.copiedTicks.find(gradient.parameter);
    rank.filledNs[gradient.parameter] =
        // With gradient_as_bucket_view nothing is copied: a gradient lies in its bucket when it is
        // ready.
        axis.ns(copied == spans.copiedTicks.end() ? gradient.ticks
                                                  : std::max(gradient.ticks, copied->second));
  }
  const Intervals computing =
      clip(spans.activity.activity(order.rank).computing, {spans.step->startTicks, last});
  for (const Interval& one : computing) {
    rank.computing.push_back({axis.ns(one.begin), axis.ns(one.end)});
  }
  return rank;
}

base::Error notWhole(const char* why) {
  return {base::ExitCode::kBadInput, why, ""};
}

}  // namespace

base::Result<cost::StepRecord> stepRecord(const std::vector<RankSpans>& ranks, std::uint32_t step,
                                          const trace::BucketsMessage& layout,
                                          const std::vector<ReadyOrder>& orders,
                                          const std::vector<BucketLife>& lives,
                                          const StepAxis& axis) {
  std::vector<SpansOfStep> spans;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    spans.push_back(spansOf(ranks[r], step, axis.nsPerTick));
    if (!spans.back().step || orders[r].gradients.empty()) {
      return notWhole("a rank recorded no end of this iteration, or no gradients in it");
    }
  }
  cost::StepRecord record;
  record.step = step;
  record.originNs = static_cast<double>(axis.originTicks) * axis.nsPerTick;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    record.ranks.push_back(rankStep(orders[r], spans[r], axis));
  }
  for (std::size_t b = 0; b < layout.buckets.size(); ++b) {
    // metTicks is there only where all ranks came to the same collective.
    if (b >= lives.size() || !lives[b].metTicks || lives[b].ranks.size() != ranks.size() ||
        ranks.size() < 2) {
      return notWhole(
          "not every rank recorded the communication of every bucket in this iteration");
    }
    cost::BucketRecord& bucket = record.buckets.emplace_back();
    bucket.parameters = layout.buckets[b].parameters;
    bucket.bytes = layout.buckets[b].bytes;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const BucketTimes& times = lives[b].ranks[r];
      if (!times.launchedTicks || !times.beganTicks || !times.endedTicks ||
          std::isnan(cost::fullNs(record.ranks[r], bucket.parameters))) {
        return notWhole("not every rank recorded every gradient and bucket in this iteration");
      }
      bucket.parts.push_back({axis.ns(*times.launchedTicks), axis.ns(*times.beganTicks),
                              axis.ns(*times.endedTicks), orNoTime(axis, times.copyOutTicks),
                              orNoTime(axis, times.copiedOutTicks),
                              orNoTime(axis, times.backendEndedTicks)});
    }
  }
  return record;
}

std::optional<double> allreducedShare(const std::vector<RankSpans>& ranks, std::uint32_t step,
                                      const trace::BucketsMessage& layout) {
  constexpr double kSame = 0.01;
  std::optional<double> share;
  for (const RankSpans& rank : ranks) {
    std::vector<std::size_t> calls(layout.buckets.size(), 0);
    for (const trace::SpanRow& span : rank.spans) {
      if (span.step != step || span.kind != EventKind::kCollective ||
          span.bucket >= layout.buckets.size()) {
        continue;
      }
      const double bytes = static_cast<double>(layout.buckets[span.bucket].bytes);
      const double part = static_cast<double>(trace::collectiveBytes(span.value)) / bytes;
      // LinkModel knows what one allreduce costs; of a hook that makes two, or gathers, the
      // settings do not tell the time.
      if (trace::operationOf(span.detail) != trace::Operation::kAllreduce ||
          ++calls[span.bucket] > 1 || std::abs(part - share.value_or(part)) > kSame * part) {
        return std::nullopt;
      }
      share = part;
    }
    if (std::find(calls.begin(), calls.end(), 0u) != calls.end()) {
      return std::nullopt;
    }
  }
  return share;
}

}  // namespace lockstep::analysis
