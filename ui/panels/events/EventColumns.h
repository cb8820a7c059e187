#pragma once

#include <QHash>
#include <QString>

#include "ui/model/SpanNames.h"

namespace lockstep::ui {

class RunModel;

/// The columns of the table of events, in their order.
enum class EventColumn {
  kStart,
  kName,
  kRank,
  kDuration,
  kBucket,
  kStep,
  kInStep,
  kBytes,
  kSequence,
  kGroup,
  kLane,
  kThread,
  kValue,
};
inline constexpr int kEventColumns = 13;

/// What of a run the columns need; a copy, so that any thread may have one. The longest time
/// gives all starts one unit.
struct EventTerms {
  EventTerms() = default;
  explicit EventTerms(const RunModel& model);

  ParameterTable parameters;
  QHash<int, QString> threads;  ///< name of each track
  double longestNs = 0;
};

// All [any-thread]. `stepStartNs` is that of the span's iteration, NaN when it is unknown.

/// Returns the title of a column and what it holds, with its unit.
QString titleOf(EventColumn column);
QString meaningOf(EventColumn column);

/// Whether a column is sorted by its text.
bool isText(EventColumn column);
/// Returns what a column that is no text is sorted by; NaN: it holds nothing here.
double numberOf(EventColumn column, const EventTerms& terms, const Span& span,
                double stepStartNs = std::nan(""));
/// Returns a cell as people read it; empty where there is nothing.
QString textOf(EventColumn column, const EventTerms& terms, const Span& span, double stepStartNs);

}  // namespace lockstep::ui
