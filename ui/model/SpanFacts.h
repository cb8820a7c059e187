#pragma once

#include <QString>
#include <vector>

#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// One line of a tooltip or of the inspector.
struct Fact {
  QString name;
  QString value;
};

/// Returns what a span is, in a few words: "forward", "allreduce, bucket 3",
/// "gradient ready: fc1.weight".
QString titleOf(const RunModel& model, const Span& span);

/// Returns the facts of a span in the order to show them: rank, iteration, duration, start in
/// the iteration, bucket, parameter, bytes, GB/s, sequence number, order of arrival, thread.
std::vector<Fact> factsOf(const RunModel& model, const Span& span);

/// Returns the span as one JSON object: for "Copy JSON".
QString jsonOf(const RunModel& model, const Span& span);

/// Who came when to one collective.
struct Arrivals {
  std::vector<Span> byRank;   ///< the ranks that recorded it
  double lastArrivalNs = 0;   ///< when the transfer could begin
  int lateRank = -1;          ///< who came last; -1 when fewer than two are known
  int order = 0;              ///< of the span asked for: 1 = first
  double waitNs = 0;          ///< how long the first to come waited for the last
};
/// Returns the arrivals of the collective that `span` belongs to; empty for other spans.
Arrivals arrivalsOf(const RunModel& model, const Span& span);

/// Returns the plural title of a lane: "Phases", "Gradients", "Hook", "Communication".
QString titleOf(LaneRole role);

}  // namespace lockstep::ui
