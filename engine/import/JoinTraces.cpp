#include "engine/import/JoinTraces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/trace/Event.h"

namespace lockstep::imports {
namespace {

using base::Error;
using base::ExitCode;

std::int64_t beginOf(const JobRank& trace) {
  return trace.firstNs + trace.epochNs;
}

std::int64_t endOf(const JobRank& trace) {
  return trace.lastNs + trace.epochNs;
}

struct Iterations {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

std::optional<Iterations> iterationsOf(const RankTimeline& timeline) {
  std::optional<Iterations> found;
  for (const TimedEvent& event : timeline.events) {
    if (event.kind == trace::EventKind::kStep) {
      found =
          found ? Iterations{std::min(found->first, event.step), std::max(found->last, event.step)}
                : Iterations{event.step, event.step};
    }
  }
  return found;
}

bool differ(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && a != b;
}

/// Why `later` cannot follow `earlier`; empty: it can.
std::string contradiction(const JobRank& earlier, const JobRank& later) {
  if (beginOf(later) < endOf(earlier)) {
    return fmt::format("their times overlap by {}",
                       base::durationText(static_cast<double>(
                           std::min(endOf(earlier), endOf(later)) - beginOf(later))));
  }
  if (differ(earlier.hostName, later.hostName)) {
    return fmt::format("it was written on {}, and that one on {}", later.hostName,
                       earlier.hostName);
  }
  if (earlier.worldSize != later.worldSize) {
    return fmt::format("its job has {} ranks, and that one's {}", later.worldSize,
                       earlier.worldSize);
  }
  if (differ(earlier.backend, later.backend) || differ(earlier.device, later.device)) {
    return "they have another backend or device";
  }
  const auto before = iterationsOf(earlier.timeline);
  const auto after = iterationsOf(later.timeline);
  if (before.has_value() != after.has_value() ||
      earlier.timeline.countsForItself != later.timeline.countsForItself) {
    return "one has a ProfilerStep for each iteration, and the other has not";
  }
  if (before && !later.timeline.countsForItself && after->first <= before->last) {
    return fmt::format("it begins with iteration {}, and that one, earlier, had come to {}",
                       after->first, before->last);
  }
  return {};
}

class Joined {
 public:
  explicit Joined(JobRank first) : made_(std::move(first)) {}

  void append(JobRank later) {
    RankTimeline& into = made_.timeline;
    RankTimeline& from = later.timeline;
    const auto before = iterationsOf(into);
    const auto after = iterationsOf(from);
    // A trace that counts for itself begins again with 0: it goes on where the one before ended.
    const std::uint32_t stepsOn = from.countsForItself && before ? before->last + 1 : 0;
    // Each file has a base of its own, and the times in it count from there.
    const std::int64_t apart = later.epochNs - made_.epochNs;
    TraceGap gap;
    // Before the lines below move the end.
    gap.ns = beginOf(later) - endOf(made_);
    if (before && after) {
      gap.between = {before->last, after->first + stepsOn};
    }
    made_.gaps.push_back(gap);
    takeParameters(from);
    const std::vector<std::uint32_t> lanes = takeLanes(from);
    for (TimedEvent& event : from.events) {
      event.beginNs += apart;
      event.endNs += apart;
      event.lane = lanes[event.lane];
      event.step += stepsOn;
      into.events.push_back(event);
    }
    for (RankCall& call : from.calls) {
      if (call.askedNs) {
        *call.askedNs += apart;
      }
      call.beginNs += apart;
      call.endNs += apart;
      call.lane = lanes[call.lane];
      call.step += stepsOn;
      into.calls.push_back(std::move(call));
    }
    for (trace::BucketsMessage& layout : from.layouts) {
      layout.step += stepsOn;
      keepLayout(into.layouts, std::move(layout), into.notes);
    }
    into.notes.merge(from.notes);
    for (const auto& [text, count] : from.counts) {
      into.counts[text].some += count.some;
      into.counts[text].all += count.all;
    }
    into.steps += from.steps;
    made_.lastNs = later.lastNs + apart;
    made_.source += ", " + later.source;
  }

  JobRank take() {
    if (strangers_ > 0) {
      made_.timeline.notes.insert(fmt::format(
          "in {} of its {} traces the gradients are others, or come in another order, than in the "
          "first: these are left out",
          strangers_, made_.gaps.size() + 1));
    }
    return std::move(made_);
  }

 private:
  void takeParameters(RankTimeline& from) {
    std::vector<trace::ParametersMessage::Parameter>& known = made_.timeline.parameters;
    if (known.empty()) {
      known = std::move(from.parameters);
    } else if (!from.parameters.empty() && from.parameters != known) {
      ++strangers_;
      from.layouts.clear();
      // Numbers of other gradients would be taken for those of the first trace.
      std::erase_if(from.events, [](const TimedEvent& event) {
        return event.kind == trace::EventKind::kGradientReady ||
               event.kind == trace::EventKind::kCopyIn;
      });
    }
  }

  /// Lanes of the same name are one. Returns where each of `from` is.
  std::vector<std::uint32_t> takeLanes(const RankTimeline& from) {
    std::vector<std::string>& known = made_.timeline.lanes;
    std::vector<std::uint32_t> places;
    for (const std::string& lane : from.lanes) {
      const auto at = std::find(known.begin(), known.end(), lane);
      places.push_back(static_cast<std::uint32_t>(at - known.begin()));
      if (at == known.end()) {
        known.push_back(lane);
      }
    }
    return places;
  }

  JobRank made_;
  std::size_t strangers_ = 0;
};

}  // namespace

base::Result<JobRank> joinTraces(int rank, std::vector<JobRank> traces) {
  // A single trace needs no order.
  for (std::size_t i = 0; traces.size() > 1 && i < traces.size(); ++i) {
    if (!traces[i].tellsTheTime) {
      return Error{ExitCode::kBadInput,
                   fmt::format("is of rank {}, as {} is, and without the time of day in both there "
                               "is no telling which was first: import one of the two",
                               rank, traces[i == 0 ? 1 : 0].source),
                   traces[i].source};
    }
  }
  std::stable_sort(traces.begin(), traces.end(),
                   [](const JobRank& a, const JobRank& b) { return beginOf(a) < beginOf(b); });
  for (std::size_t i = 1; i < traces.size(); ++i) {
    if (const std::string why = contradiction(traces[i - 1], traces[i]); !why.empty()) {
      return Error{
          ExitCode::kBadInput,
          fmt::format("is of rank {}, as {} is, and cannot stand behind it: {}; import one "
                      "of the two",
                      rank, traces[i - 1].source, why),
          traces[i].source};
    }
  }
  Joined joined(std::move(traces.front()));
  for (std::size_t i = 1; i < traces.size(); ++i) {
    joined.append(std::move(traces[i]));
  }
  return joined.take();
}

}  // namespace lockstep::imports
