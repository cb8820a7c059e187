#include "ui/panels/events/EventColumns.h"

#include <QCoreApplication>
#include <algorithm>
#include <array>

#include "ui/model/Format.h"
#include "ui/model/RunModel.h"
#include "ui/model/SpanFacts.h"

namespace lockstep::ui {
namespace {

constexpr double kTellApartNs = 1000;  // starts, as they are shown

struct ColumnWords {
  const char* title;
  const char* file;
  const char* meaning;
};

constexpr std::array<ColumnWords, kEventColumns> kWords{{
    {QT_TRANSLATE_NOOP("EventColumn", "Start"), "start_ns",
     QT_TRANSLATE_NOOP("EventColumn", "When it began, since the run began")},
    {QT_TRANSLATE_NOOP("EventColumn", "Name"), "name",
     QT_TRANSLATE_NOOP("EventColumn", "What it is")},
    {QT_TRANSLATE_NOOP("EventColumn", "Rank"), "rank",
     QT_TRANSLATE_NOOP("EventColumn", "The rank that recorded it")},
    {QT_TRANSLATE_NOOP("EventColumn", "Duration"), "duration_ns",
     QT_TRANSLATE_NOOP("EventColumn", "How long it took; empty for an instant")},
    {QT_TRANSLATE_NOOP("EventColumn", "Bucket"), "bucket",
     QT_TRANSLATE_NOOP("EventColumn", "The gradient bucket it is about")},
    {QT_TRANSLATE_NOOP("EventColumn", "Iteration"), "iteration",
     QT_TRANSLATE_NOOP("EventColumn", "The iteration it belongs to, counted from 0; empty before all")},
    {QT_TRANSLATE_NOOP("EventColumn", "In iteration"), "in_iteration_ns",
     QT_TRANSLATE_NOOP("EventColumn",
                       "When it began, since its iteration began on this rank; "
                       "empty while that is unknown")},
    {QT_TRANSLATE_NOOP("EventColumn", "Bytes"), "bytes",
     QT_TRANSLATE_NOOP("EventColumn", "The bytes it is about: of a collective, its payload")},
    {QT_TRANSLATE_NOOP("EventColumn", "Sequence"), "sequence",
     QT_TRANSLATE_NOOP("EventColumn",
                       "Of a collective: its number within its group, the same on "
                       "all ranks")},
    {QT_TRANSLATE_NOOP("EventColumn", "Group"), "group",
     QT_TRANSLATE_NOOP("EventColumn", "Of a collective: its group; 0 holds all ranks")},
    {QT_TRANSLATE_NOOP("EventColumn", "Lane"), "lane",
     QT_TRANSLATE_NOOP("EventColumn", "The lane of the timeline that it stands in")},
    {QT_TRANSLATE_NOOP("EventColumn", "Thread"), "thread",
     QT_TRANSLATE_NOOP("EventColumn", "The thread that recorded it")},
    {QT_TRANSLATE_NOOP("EventColumn", "Value"), "value",
     QT_TRANSLATE_NOOP("EventColumn",
                       "The number that came with it, where it is neither bytes nor "
                       "a collective's: an index of a parameter, a count")},
}};

const ColumnWords& wordsOf(EventColumn column) {
  return kWords[static_cast<std::size_t>(column)];
}

// Whether a span is of no iteration. What is recorded before the first one carries its number.
bool startsUp(const Span& span, double stepStartNs) {
  return span.kind == trace::EventKind::kStartup || span.endNs() < stepStartNs;
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

QString fileTitleOf(EventColumn column) {
  return QString::fromLatin1(wordsOf(column).file);
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
      const bool own = span.value != 0 || parameterOf(span).has_value();
      const bool saidElsewhere =
          isCollective(span.kind) || (!parameterOf(span) && bytesOf(terms.parameters, span) > 0);
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

QString fileTextOf(EventColumn column, const EventTerms& terms, const Span& span,
                   double stepStartNs) {
  if (isText(column)) {
    return textOf(column, terms, span, stepStartNs);
  }
  const double number = numberOf(column, terms, span, stepStartNs);
  switch (column) {
    case EventColumn::kValue:
      return QString::number(span.value);
    case EventColumn::kDuration:
      return QString::number(span.durationNs, 'f', 1);
    case EventColumn::kStart:
    case EventColumn::kInStep:
      return std::isnan(number) ? QString() : QString::number(number, 'f', 1);
    default:
      return std::isnan(number) ? QString() : QString::number(number, 'f', 0);
  }
}

}  // namespace lockstep::ui
