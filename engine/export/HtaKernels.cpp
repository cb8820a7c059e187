#include "engine/export/HtaKernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "engine/analysis/RankActivity.h"
#include "engine/base/Check.h"
#include "engine/export/Nesting.h"
#include "engine/trace/Event.h"

namespace lockstep::exports {
namespace {

using analysis::Interval;
using analysis::Intervals;
using trace::EventKind;
using trace::Operation;
using trace::SpanRow;

const char* titleOf(Operation operation) {
  switch (operation) {
    case Operation::kBroadcast:
      return "Broadcast";
    case Operation::kAllreduce:
      return "AllReduce";
    case Operation::kReduce:
      return "Reduce";
    case Operation::kAllgather:
      return "AllGather";
    case Operation::kGather:
      return "Gather";
    case Operation::kScatter:
      return "Scatter";
    case Operation::kReduceScatter:
      return "ReduceScatter";
    case Operation::kAlltoall:
      return "AllToAll";
    case Operation::kSend:
      return "Send";
    case Operation::kRecv:
      return "Recv";
    case Operation::kBarrier:
      return "Barrier";
    case Operation::kNone:
      break;
  }
  return "Unknown";
}

struct RankSpans {
  Intervals windows;  // of the selected iterations
  std::vector<SpanRow> communication;
  std::map<EventKind, std::vector<Interval>> phases;
};

Interval intervalOf(const SpanRow& span) {
  return {span.startTicks, span.startTicks + span.durationTicks};
}

std::map<int, RankSpans> gather(const Survey& survey) {
  std::map<int, RankSpans> ranks;
  survey.data->eachSpan([&](int number, const SpanRow& span) {
    RankSpans& rank = ranks[number];
    const analysis::Counted counted = analysis::countedAs(span);
    if (span.kind == EventKind::kStep && survey.selection.holds(span)) {
      Interval window = intervalOf(span);
      // Of an iteration that the stretch of time cuts, the part within it.
      if (survey.selection.ticks) {
        window.begin = std::max(window.begin, survey.selection.ticks->begin);
        window.end = std::min(window.end, survey.selection.ticks->end);
      }
      rank.windows.push_back(window);
    } else if (counted.work) {
      rank.phases[span.kind].push_back(intervalOf(span));
    } else if (counted.inFlight) {
      rank.communication.push_back(span);
    }
  });
  return ranks;
}

/// Converts to whole µs since the begin of the export.
class WholeMicroseconds {
 public:
  WholeMicroseconds(const Survey& survey, std::int64_t beginNs)
      : clock_(survey.clock), beginNs_(beginNs) {}
  std::int64_t operator()(std::uint64_t ticks) const {
    // To the nearest: begins and ends that lie together stay together.
    return (std::max<std::int64_t>(clock_.toNs(ticks) - beginNs_, 0) + 500) / 1000;
  }

 private:
  const base::ClockCalibration& clock_;
  std::int64_t beginNs_;
};

bool holderFirst(const HtaKernel& a, const HtaKernel& b) {
  return a.beginUs != b.beginUs ? a.beginUs < b.beginUs : a.endUs > b.endUs;
}

void layOut(std::vector<HtaKernel>& kernels) {
  std::stable_sort(kernels.begin(), kernels.end(), [](const HtaKernel& a, const HtaKernel& b) {
    return a.endUs != b.endUs ? a.endUs < b.endUs : a.beginUs > b.beginUs;
  });
  NestingRows rows;
  for (HtaKernel& kernel : kernels) {
    kernel.row = rows.take(kernel.beginUs, kernel.endUs, 0);
  }
  std::stable_sort(kernels.begin(), kernels.end(), holderFirst);
}

Intervals timeOf(const std::vector<HtaKernel>& kernels) {
  std::vector<Interval> pieces;
  pieces.reserve(kernels.size());
  for (const HtaKernel& kernel : kernels) {
    pieces.push_back(
        {static_cast<std::uint64_t>(kernel.beginUs), static_cast<std::uint64_t>(kernel.endUs)});
  }
  return analysis::unite(std::move(pieces));
}

HtaRank kernelsOf(const RankSpans& spans, const analysis::RankActivity& activity,
                  const WholeMicroseconds& toUs) {
  HtaRank rank;
  rank.rank = activity.rank;
  rank.steps = static_cast<std::uint32_t>(spans.windows.size());
  const Intervals windows = analysis::unite(spans.windows);
  const Intervals busy = analysis::intersect(activity.computing, windows);

  const auto add = [&](std::vector<HtaKernel>& kernels, const Interval& piece,
                       const std::optional<SpanRow>& span, EventKind phase) {
    const HtaKernel kernel{toUs(piece.begin), toUs(piece.end), 0, span, phase};
    // Shorter than half a µs: HTA could not count it either.
    if (kernel.endUs > kernel.beginUs) {
      kernels.push_back(kernel);
    }
  };
  for (const SpanRow& span : spans.communication) {
    // An iteration has only the part of it that lies within.
    const auto first =
        std::partition_point(windows.begin(), windows.end(),
                             [&](const Interval& window) { return window.end <= span.startTicks; });
    const Interval whole = intervalOf(span);
    for (auto window = first; window != windows.end() && window->begin < whole.end; ++window) {
      add(rank.communication,
          {std::max(window->begin, whole.begin), std::min(window->end, whole.end)}, span,
          span.kind);
    }
  }
  // Computing is cut by phase for its names alone. Phases do not overlap on one rank but for what a
  // hook steps beside them; what one has taken is not given twice, so that the pieces add up to
  // `busy`.
  Intervals rest = busy;
  for (const auto& [kind, pieces] : spans.phases) {
    const Intervals phase = analysis::unite(pieces);
    for (const Interval& piece : analysis::intersect(rest, phase)) {
      add(rank.computing, piece, std::nullopt, kind);
    }
    rest = analysis::subtract(rest, phase);
  }
  for (const Interval& piece : rest) {  // a hook's optimizer, beside the phases
    add(rank.computing, piece, std::nullopt, EventKind::kOptimizer);
  }
  layOut(rank.communication);
  std::stable_sort(rank.computing.begin(), rank.computing.end(), holderFirst);
  const Intervals flying = timeOf(rank.communication);
  rank.inFlightUs = analysis::length(flying);
  // From the rounded rows, which are what HTA reads.
  rank.overlapUs = analysis::length(analysis::intersect(flying, timeOf(rank.computing)));
  return rank;
}

}  // namespace

std::string HtaKernel::name() const {
  if (!span) {
    return fmt::format("lockstep_{}", trace::name(phase));
  }
  const std::string operation = titleOf(trace::operationOf(span->detail));
  const auto named = [](const std::string& what) {
    return fmt::format("ncclKernel_{}_lockstep", what);
  };
  switch (span->kind) {
    case EventKind::kChecked:
      return named(operation + "Check");
    case EventKind::kShaped:
      return named(operation + "Link");
    case EventKind::kScatter:
      return named("DataParallelScatter");
    case EventKind::kReplicate:
      return named("DataParallelReplicate");
    case EventKind::kGather:
      return named("DataParallelGather");
    case EventKind::kReduceGradients:
      return named("DataParallelReduce");
    default:
      return named(operation);
  }
}

std::optional<double> HtaRank::overlapPercent() const {
  return inFlightUs > 0
             ? std::optional(100 * static_cast<double>(overlapUs) / static_cast<double>(inFlightUs))
             : std::nullopt;
}

std::vector<HtaRank> htaRanks(const Survey& survey, std::int64_t beginNs) {
  LOCKSTEP_CHECK(survey.data.has_value(), "kernels of a run whose spans were not kept");
  const std::map<int, RankSpans> spans = gather(survey);
  const WholeMicroseconds toUs(survey, beginNs);
  std::vector<HtaRank> ranks;
  for (const analysis::RankActivity& activity : analysis::rankActivity(*survey.data)) {
    if (const auto at = spans.find(activity.rank); at != spans.end()) {
      ranks.push_back(kernelsOf(at->second, activity, toUs));
    }
  }
  return ranks;
}

}  // namespace lockstep::exports
