#include "ui/panels/events/EventColumns.h"

#include <QCoreApplication>
#include <algorithm>
#include <array>

#include "engine/export/EventTable.h"
#include "engine/trace/UserPhases.h"
#include "ui/model/Format.h"
#include "ui/model/RunModel.h"
#include "ui/model/SpanFacts.h"

namespace lockstep::ui {
namespace {

constexpr double kTellApartNs = 1000;  // starts, as they are shown

struct ColumnWords {
  const char* title;
  const char* meaning;
};

constexpr std::array<ColumnWords, kEventColumns> kWords{{
    {"Start",
     "When it began, since the recorder did; a process began before that, so that its start-up "
     "does with a minus"},
    {"Name", "What it is"},
    {"Rank", "The rank that recorded it"},
    {"Duration", "How long it took; empty for an instant"},
    {"Bucket", "The gradient bucket it is about"},
    {"Iteration", "The iteration it belongs to, counted from 0; empty before all"},
    {"In iteration",
     "When it began, since its iteration began on this rank; empty while that is unknown"},
    {"Bytes", "The bytes it is about: of a collective, its payload"},
    {"Sequence", "Of a collective: its number within its group, the same on all ranks"},
    {"Group", "Of a collective: its group; 0 holds all ranks"},
    {"Lane", "The lane of the timeline that it stands in"},
    {"Thread", "The thread that recorded it"},
    {"Value",
     "The number that came with it, where it is neither bytes nor a collective's: an index of a "
     "parameter, a count"},
}};

const ColumnWords& wordsOf(EventColumn column) {
  return kWords[static_cast<std::size_t>(column)];
}

// What came before the first iteration carries the number 0 as well, and must not be listed under
// it.
bool startsUp(const Span& span, double stepStartNs) {
  return exports::isOfNoStep(span.kind, span.endNs(), stepStartNs);
}

}  // namespace

EventTerms::EventTerms(const RunModel& model)
    : parameters(model.parameters()), longestNs(model.extent().endNs) {
  for (const trace::TrackInfo& track : model.tracks()) {
    threads.insert(track.id, QString::fromStdString(track.name));
  }
}

QString titleOf(EventColumn column) {
  return QCoreApplication::translate("EventColumn", wordsOf(column).title);
}

QString meaningOf(EventColumn column) {
  return QCoreApplication::translate("EventColumn", wordsOf(column).meaning);
}

bool isText(EventColumn column) {
  return column == EventColumn::kName || column == EventColumn::kLane ||
         column == EventColumn::kThread;
}

double numberOf(EventColumn column, const EventTerms& terms, const Span& span, double stepStartNs) {
  const double nothing = std::nan("");
  switch (column) {
    case EventColumn::kStart:
      return span.startNs;
    case EventColumn::kStep:
      return startsUp(span, stepStartNs) ? nothing : static_cast<double>(span.step);
    case EventColumn::kInStep:
      return startsUp(span, stepStartNs) ? nothing : span.startNs - stepStartNs;
    case EventColumn::kRank:
      return span.rank();
    case EventColumn::kDuration:
      return span.durationNs > 0 ? span.durationNs : nothing;
    case EventColumn::kBucket:
      return span.hasBucket() ? span.bucket : nothing;
    case EventColumn::kBytes: {
      const std::uint64_t bytes = bytesOf(terms.parameters, span);
      return bytes > 0 ? static_cast<double>(bytes) : nothing;
    }
    case EventColumn::kSequence:
      return isCollective(span.kind) ? trace::collectiveSequence(span.value) : nothing;
    case EventColumn::kGroup:
      return isCollective(span.kind) ? trace::groupOf(span.detail) : nothing;
    case EventColumn::kValue: {
      // The value that no other column shows: not bytes, a collective's number or the number of a
      // name. A 0 says something only where it is the index of a parameter.
      const bool own = span.value != 0 || parameterOf(span).has_value();
      const bool saidElsewhere =
          isCollective(span.kind) || trace::isNamed(span.kind) ||
          (!parameterOf(span) && bytesOf(terms.parameters, span) > 0);
      return own && !saidElsewhere ? static_cast<double>(span.value) : nothing;
    }
    default:
      return nothing;
  }
}

QString textOf(EventColumn column, const EventTerms& terms, const Span& span, double stepStartNs) {
  switch (column) {
    case EventColumn::kName:
      return titleOf(terms.parameters, span);
    case EventColumn::kLane:
      return titleOf(span.role());
    case EventColumn::kThread:
      return terms.threads.value(span.track);
    default:
      break;
  }
  const double number = numberOf(column, terms, span, stepStartNs);
  if (std::isnan(number)) {
    return {};
  }
  switch (column) {
    case EventColumn::kStart:
      return formatTime(number, kTellApartNs, terms.longestNs);
    case EventColumn::kInStep:
      return formatTime(number, kTellApartNs);
    case EventColumn::kDuration:
      return formatDuration(number);
    case EventColumn::kBytes:
      return formatBytes(number);
    case EventColumn::kValue:
      return QString::number(span.value);
    default:
      return QString::number(number, 'f', 0);
  }
}

}  // namespace lockstep::ui
