#pragma once

#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "ui/model/Fact.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Returns what a span is, in a few words: "forward", "allreduce, bucket 3",
/// "gradient ready: fc1.weight", "fault: delay of 5.00 ms".
QString titleOf(const RunModel& model, const Span& span);

/// Returns a sentence or two on what happens in a span of this kind; empty for those that say it
/// by their name.
QString meaningOf(const Span& span);

/// Returns the index of the parameter that a span is about, by registration.
std::optional<std::uint64_t> parameterOf(const Span& span);
/// Returns the name of a parameter of the run: "fc1.weight".
QString parameterName(const RunModel& model, std::uint64_t index);
/// Returns the name of a kFault's kind: "delay", "flip bit".
QString faultName(const Span& span);
/// Returns the operation of a collective's event: "allreduce", "reduce scatter".
QString operationName(const Span& span);
/// Returns the name of a kind as people read it: "copy in".
QString kindName(trace::EventKind kind);

/// Returns the facts of a span in the order to show them: rank, iteration, duration, start in
/// the iteration, bucket, parameter, bytes, GB/s, sequence number, order of arrival, thread, and
/// what the kind means.
std::vector<Fact> factsOf(const RunModel& model, const Span& span);

/// Returns the span as one JSON object: for "Copy JSON".
QString jsonOf(const RunModel& model, const Span& span);

/// Who came when to one collective, or to the check before it.
struct Arrivals {
  std::vector<Span> byRank;   ///< the ranks that recorded it
  std::vector<int> missing;   ///< ranks of its group without a record: dropped, or not here yet
  double lastArrivalNs = 0;   ///< the last that is known: then transfer or comparison could begin
  /// Who came last; -1 when one is missing, there is only one, or clocks cannot tell.
  int lateRank = -1;
  /// Ranks of different hosts that came last so close together that their clocks cannot tell which.
  std::vector<int> closeToLast;
  double doubtNs = 0;         ///< of these clocks against each other
  int order = 0;              ///< of the span asked for: 1 = first
  double waitNs = 0;          ///< how long the first to come waited for the last
};
/// Returns the arrivals of the collective that `span` belongs to; empty for other spans.
Arrivals arrivalsOf(const RunModel& model, const Span& span);

/// Returns the plural title of a lane: "Phases", "Gradients", "Hook", "Communication".
QString titleOf(LaneRole role);

}  // namespace lockstep::ui
