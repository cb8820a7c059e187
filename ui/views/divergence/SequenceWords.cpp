#include <algorithm>

#include "engine/trace/Event.h"
#include "ui/model/Format.h"
#include "ui/views/divergence/SequenceScene.h"

// The calls of a group in words.
namespace lockstep::ui {

using analysis::CallMismatch;
using analysis::CallSequence;

QString nameOf(const CallSequence& sequence) {
  return sequence.checks ? QStringLiteral("checks of group %1").arg(sequence.group)
                         : QStringLiteral("group %1").arg(sequence.group);
}

QString summaryOf(const CallSequence& sequence) {
  // Three kinds of sentence: nothing differs, nothing is known to differ, or where it first does.
  if (!sequence.first) {
    const std::size_t unknown = sequence.suspects.size();
    return unknown == 0
               ? QStringLiteral("All %1 calls match").arg(formatCount(sequence.rows.size()))
               : QStringLiteral("No mismatch is known in %1 calls; of %2 a record is missing")
                     .arg(formatCount(sequence.rows.size()), formatCount(unknown));
  }
  const std::size_t row = *sequence.first;
  return QStringLiteral("First mismatch: number %1, %2. %3")
      .arg(formatCount(sequence.rows[row].sequence),
           QString::fromLatin1(analysis::name(sequence.rows[row].mismatch)),
           QString::fromStdString(analysis::describe(sequence, row)));
}

QString dtypeOf(const DivergenceFacts& facts, const trace::SpanRow& call) {
  // Of the layouts that began by then the latest.
  const trace::BucketsMessage* inForce = nullptr;
  for (const trace::BucketsMessage& layout : facts.data().layouts) {
    if (layout.step <= call.step && (inForce == nullptr || layout.step >= inForce->step)) {
      inForce = &layout;
    }
  }
  // Only the default group's calls are of buckets that the layout describes.
  const bool known = inForce != nullptr && call.bucket < inForce->buckets.size() &&
                     trace::groupOf(call.detail) == 0;
  return known ? QString::fromStdString(inForce->buckets[call.bucket].dtype) : QString();
}

std::vector<Fact> factsOf(const DivergenceFacts& facts, const CallSequence& sequence,
                          const CallPlace& place) {
  Facts lines;
  const trace::SpanRow* call = place.column ? sequence.callAt(place.row, *place.column) : nullptr;
  if (place.column) {
    lines.add("Rank", QString::number(sequence.ranks[*place.column]));
  }
  if (call != nullptr) {
    const trace::SpanRow& span = *call;
    lines.add("Operation", nameOfOperation(span));
    lines.add("Iteration", formatCount(span.step));
    if (span.bucket != trace::kNoBucket) {
      lines.add("Bucket", QString::number(span.bucket));
    }
    lines.add("Bytes", formatCount(trace::collectiveBytes(span.value)));
    const QString dtype = dtypeOf(facts, span);
    if (!dtype.isEmpty()) {
      lines.add("Data type", dtype);
    }
    lines.add("Took", span.kind == trace::EventKind::kCollectiveQueued
                          ? QStringLiteral("begun, not ended")
                          : formatDuration(facts.data().clock.durationNs(span.durationTicks)));
  }
  const CallMismatch mismatch = sequence.rows[place.row].mismatch;
  lines.add("Verdict", QStringLiteral("%1. %2").arg(
                           QString::fromLatin1(analysis::name(mismatch)),
                           QString::fromStdString(analysis::describe(sequence, place.row))));
  return lines;
}

}  // namespace lockstep::ui
