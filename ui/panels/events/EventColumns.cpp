#include "ui/panels/events/EventColumns.h"

#include <QCoreApplication>
#include <array>
#include <limits>

#include "engine/export/EventTable.h"
#include "engine/trace/UserPhases.h"
#include "ui/model/Format.h"
#include "ui/model/RunModel.h"
#include "ui/model/SpanFacts.h"

namespace lockstep::ui {
namespace {

constexpr double kTellApartNs = 1000;  // starts, as they are shown

/// A span in the terms of its run.
struct Event {
  const EventTerms& terms;
  const Span& span;
  double stepStartNs;

  /// Of the start-up no iteration is known.
  [[nodiscard]] bool startsUp() const {
    return exports::isOfNoStep(span.kind, span.endNs(), stepStartNs);
  }
};

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

struct ColumnFacts {
  const char* title;
  const char* meaning;
  double (*number)(const Event& event);  // null: a text
  QString (*text)(const Event& event, double number) = [](const Event&, double number) {
    return QString::number(number, 'f', 0);
  };
};

double ofCall(const Event& event, double number) {
  return isCollective(event.span.kind) ? number : kNothing;
}

constexpr std::array<ColumnFacts, kEventColumns> kColumns{{
    {"Start",
     "When it began, since the recorder did; a process began before that, so that its start-up "
     "does with a minus",
     [](const Event& event) { return event.span.startNs; },
     [](const Event& event, double ns) {
       return formatTime(ns, kTellApartNs, event.terms.longestNs);
     }},
    {"Name", "What it is", nullptr,
     [](const Event& event, double) { return titleOf(event.terms.parameters, event.span); }},
    {"Rank", "The rank that recorded it",
     [](const Event& event) { return 1.0 * event.span.rank(); }},
    {"Duration", "How long it took; empty for an instant",
     [](const Event& event) {
       return event.span.durationNs > 0 ? event.span.durationNs : kNothing;
     },
     [](const Event&, double ns) { return formatDuration(ns); }},
    {"Bucket", "The gradient bucket it is about",
     [](const Event& event) { return event.span.hasBucket() ? event.span.bucket : kNothing; }},
    {"Iteration", "The iteration it belongs to, counted from 0; empty before all",
     [](const Event& event) { return event.startsUp() ? kNothing : event.span.step; }},
    {"In iteration",
     "When it began, since its iteration began on this rank; empty while that is unknown",
     [](const Event& event) {
       return event.startsUp() ? kNothing : event.span.startNs - event.stepStartNs;
     },
     [](const Event&, double ns) { return formatTime(ns, kTellApartNs); }},
    {"Bytes", "The bytes it is about: of a collective, its payload",
     [](const Event& event) {
       const std::uint64_t bytes = bytesOf(event.terms.parameters, event.span);
       return bytes > 0 ? static_cast<double>(bytes) : kNothing;
     },
     [](const Event&, double bytes) { return formatBytes(bytes); }},
    {"Sequence", "Of a collective: its number within its group, the same on all ranks",
     [](const Event& event) {
       return ofCall(event, static_cast<double>(trace::collectiveSequence(event.span.value)));
     }},
    {"Group", "Of a collective: its group; 0 holds all ranks",
     [](const Event& event) { return ofCall(event, trace::groupOf(event.span.detail)); }},
    {"Lane", "The lane of the timeline that it stands in", nullptr,
     [](const Event& event, double) { return titleOf(event.span.role()); }},
    {"Thread", "The thread that recorded it", nullptr,
     [](const Event& event, double) { return event.terms.threads.value(event.span.track); }},
    {"Value",
     "The number that came with it, where it is neither bytes nor a collective's: an index of a "
     "parameter, a count",
     [](const Event& event) {
       const Span& span = event.span;
       const bool own = span.value != 0 || parameterOf(span).has_value();
       const bool saidElsewhere = isCollective(span.kind) || trace::isNamed(span.kind) ||
                                  (!parameterOf(span) && bytesOf(event.terms.parameters, span) > 0);
       return own && !saidElsewhere ? static_cast<double>(span.value) : kNothing;
     },
     [](const Event& event, double) { return QString::number(event.span.value); }},
}};

const ColumnFacts& about(EventColumn column) {
  return kColumns[static_cast<std::size_t>(column)];
}

}  // namespace

EventTerms::EventTerms(const RunModel& model)
    : parameters(model.parameters()), longestNs(model.extent().endNs) {
  for (const trace::TrackInfo& track : model.tracks()) {
    threads.insert(track.id, QString::fromStdString(track.name));
  }
}

QString titleOf(EventColumn column) {
  return QCoreApplication::translate("EventColumn", about(column).title);
}

QString meaningOf(EventColumn column) {
  return QCoreApplication::translate("EventColumn", about(column).meaning);
}

bool isText(EventColumn column) {
  return about(column).number == nullptr;
}

double numberOf(EventColumn column, const EventTerms& terms, const Span& span, double stepStartNs) {
  return isText(column) ? kNothing : about(column).number({terms, span, stepStartNs});
}

QString textOf(EventColumn column, const EventTerms& terms, const Span& span, double stepStartNs) {
  const double number = numberOf(column, terms, span, stepStartNs);
  return std::isnan(number) && !isText(column)
             ? QString()
             : about(column).text({terms, span, stepStartNs}, number);
}

}  // namespace lockstep::ui
