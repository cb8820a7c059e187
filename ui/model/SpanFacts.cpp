#include "ui/model/SpanFacts.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>

#include "engine/analysis/SpanMeaning.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"
#include "ui/model/Format.h"
#include "ui/model/HostWords.h"
#include "ui/model/SpanNames.h"
#include "ui/model/ViewState.h"

namespace lockstep::ui {

using trace::EventKind;

bool isCollective(EventKind kind) { return run::has(kind, run::kOfCall); }

std::uint64_t bytesOf(const ParameterTable& parameters, const Span& span) {
  return analysis::bytesOf(span.kind, span.detail, span.value, parameters).value_or(0);
}

namespace {

/// What an observed job calls a process group, as its rank reported it.
QString groupName(const RunModel& model, int rank, int group) {
  for (const trace::RankInfo& info : model.ranks()) {
    if (info.rank == rank) {
      const auto found = info.environment.find(trace::kGroupPrefix + std::to_string(group));
      return found == info.environment.end() ? QString() : QString::fromStdString(found->second);
    }
  }
  return {};
}

void addArrivals(const RunModel& model, const Span& span, Facts& facts) {
  const Arrivals arrivals = arrivalsOf(model, span);
  // Whether the late one is among those without a record cannot be known: nobody is accused.
  if (!arrivals.missing.empty()) {
    facts.add("Arrived", QStringLiteral("who came last is unknown: no record of ") +
                             formatRanks(arrivals.missing));
    return;
  }
  if (!arrivals.closeToLast.empty()) {
    facts.add("Arrived",
              QStringLiteral("%1 came last within ± %2, the doubt of their hosts' clocks")
                  .arg(formatRanks(arrivals.closeToLast), formatDuration(arrivals.doubtNs)));
    return;
  }
  if (arrivals.lateRank < 0) {
    return;
  }
  const auto ranks = static_cast<int>(arrivals.byRank.size());
  const QString waited = formatDuration(arrivals.waitNs);
  if (arrivals.lateRank == span.rank()) {
    facts.add("Arrived",
              QStringLiteral("last of %1; others waited up to %2").arg(ranks).arg(waited));
  } else {
    const auto own = std::ranges::find(arrivals.byRank, span.rank(), &Span::rank);
    const double ownWaitNs =
        own == arrivals.byRank.end() ? 0 : arrivals.lastArrivalNs - own->startNs;
    facts.add("Arrived", QStringLiteral("%1 of %2; waited %3 for rank %4")
                             .arg(formatOrdinal(static_cast<std::size_t>(arrivals.order)))
                             .arg(ranks)
                             .arg(formatDuration(ownWaitNs))
                             .arg(arrivals.lateRank));
  }
  const Meeting* meeting = model.meetingOf(span);
  if (meeting != nullptr && meeting->count > kFewRanks) {
    const Meetings::Quartiles came = model.meetings().quartilesOf(*meeting);
    const auto after = [&](double ticks) { return formatDuration(ticks * model.nsPerTick()); };
    facts.add("Arrivals", QStringLiteral("a quarter after %1, half after %2, three quarters after "
                                         "%3, all after %4")
                              .arg(after(came.quarter), after(came.half),
                                   after(came.threeQuarters), waited));
  }
}

QString hostFact(const trace::HostState& host, trace::RunKind kind) {
  return host.info.host == trace::kRecordingHost || !host.offset
             ? hostTitle(host, kind)
             : QStringLiteral("%1; its times are within ± %2 of the %3 host's")
                   .arg(QString::fromStdString(host.info.name),
                        formatDuration(static_cast<double>(host.offset->uncertaintyNs)),
                        kind == trace::RunKind::kImported ? QStringLiteral("first")
                                                          : QStringLiteral("recording"));
}

void addBucket(const RunModel& model, const Span& span, Facts& facts) {
  if (!span.hasBucket()) {
    return;
  }
  QString text = QString::number(span.bucket);
  const trace::BucketsMessage* layout = model.layoutAt(span.step);
  if (layout != nullptr && span.bucket < layout->buckets.size()) {
    const auto& bucket = layout->buckets[span.bucket];
    text +=
        QStringLiteral(" of %1 (%2, %3)")
            .arg(layout->buckets.size())
            .arg(formatBytes(bucket.bytes), formatCounted(bucket.parameters.size(), "parameter"));
  }
  facts.add("Bucket", text);
}

}  // namespace

std::vector<Fact> factsOf(const RunModel& model, const Span& span) {
  Facts facts;
  const bool instant = span.durationNs == 0;
  if (!instant) {
    facts.add("Duration", formatDuration(span.durationNs));
  }
  facts.add("Rank", QString::number(span.rank()));
  if (span.kind != EventKind::kStartup) {
    QString where = QString::number(span.step);
    const auto step = model.step(span.rank(), span.step);
    if (step && span.kind != EventKind::kStep) {
      const double offset = span.startNs - step->startNs;
      where += offset >= 0 ? QStringLiteral(", %1 after its start").arg(formatDuration(offset))
                           : QStringLiteral(", %1 before its start").arg(formatDuration(-offset));
    }
    facts.add("Iteration", where);
  }
  facts.add("Start", formatTime(span.startNs, 1000));
  if (const trace::HostState* host = model.hostOf(span.rank())) {
    facts.add("Host", hostFact(*host, model.info().kind));
  }
  if (const auto parameter = parameterOf(span)) {
    facts.add("Parameter", parameterName(model, *parameter));
    if (*parameter < model.parameters().size()) {
      facts.add("Shape", formatShape(model.parameters()[*parameter].shape));
    }
  }
  if (span.kind == EventKind::kSearchUnused) {
    facts.add("Unused", formatCounted(span.value, "parameter"));
  }
  addBucket(model, span, facts);
  if (const std::uint64_t bytes = bytesOf(model.parameters(), span); bytes > 0) {
    QString text = formatBytes(bytes);
    if (!instant && run::has(span.kind, run::kCopies)) {
      text += QStringLiteral(" at ") + formatRate(static_cast<double>(bytes), span.durationNs);
    }
    facts.add("Bytes", text);
    if (span.kind == EventKind::kCollective) {
      const Arrivals arrivals = arrivalsOf(model, span);
      // From the last arrival on: before it nothing could be moved, and a rate over the whole span
      // would accuse the link of what a late rank did.
      const double transferNs = span.endNs() - std::max(span.startNs, arrivals.lastArrivalNs);
      if (transferNs > 0) {
        facts.add("Rate", formatRate(static_cast<double>(bytes), transferNs) +
                              QStringLiteral(" once all had arrived"));
      }
    }
  }
  if (isCollective(span.kind)) {
    QString text = QString::number(trace::collectiveSequence(span.value));
    if (const int group = trace::groupOf(span.detail); group != 0) {
      text += QStringLiteral(" of group %1").arg(group);
      if (const QString name = groupName(model, span.rank(), group); !name.isEmpty()) {
        text += QStringLiteral(" (%1)").arg(name);
      }
    }
    facts.add("Sequence", text);
    addArrivals(model, span, facts);
  }
  if (span.kind == EventKind::kChecked) {
    const Arrivals arrivals = arrivalsOf(model, span);
    if (arrivals.lateRank >= 0) {
      facts.add("Comparison",
                formatDuration(span.endNs() - std::max(span.startNs, arrivals.lastArrivalNs)) +
                    QStringLiteral(" once all had arrived"));
    }
  }
  facts.addKnown("Thread", model.trackName(span.track));
  facts.addKnown("Meaning", meaningOf(span));
  return facts;
}

QString jsonOf(const RunModel& model, const Span& span) {
  QJsonObject object{
      {QStringLiteral("id"), static_cast<qint64>(span.id)},
      {QStringLiteral("kind"), QString::fromUtf8(name(span.kind).data())},
      {QStringLiteral("title"), titleOf(model, span)},
      {QStringLiteral("rank"), span.rank()},
      {QStringLiteral("thread"), model.trackName(span.track)},
      {QStringLiteral("iteration"), static_cast<qint64>(span.step)},
      {QStringLiteral("start_ns"), span.startNs},
      {QStringLiteral("duration_ns"), span.durationNs},
  };
  if (const trace::HostState* host = model.hostOf(span.rank())) {
    object.insert(QStringLiteral("host"), QString::fromStdString(host->info.name));
    object.insert(QStringLiteral("clock_uncertainty_ns"),
                  static_cast<qint64>(model.clockDoubt().ofNs(span.rank())));
  }
  if (span.hasBucket()) {
    object.insert(QStringLiteral("bucket"), span.bucket);
  }
  if (const auto parameter = parameterOf(span)) {
    object.insert(QStringLiteral("parameter"), parameterName(model, *parameter));
  }
  if (const std::uint64_t bytes = bytesOf(model.parameters(), span); bytes > 0) {
    object.insert(QStringLiteral("bytes"), static_cast<qint64>(bytes));
  }
  if (isCollective(span.kind)) {
    object.insert(QStringLiteral("operation"),
                  QString::fromUtf8(name(trace::operationOf(span.detail)).data()));
    object.insert(QStringLiteral("sequence"),
                  static_cast<qint64>(trace::collectiveSequence(span.value)));
    object.insert(QStringLiteral("group"), trace::groupOf(span.detail));
  }
  return QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Indented));
}

}  // namespace lockstep::ui
