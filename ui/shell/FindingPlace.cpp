#include "ui/shell/FindingPlace.h"

#include <map>
#include <string_view>

#include "engine/trace/Event.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

bool isMeant(const RunModel& model, const Span& span, const diagnosis::Place& place) {
  if (place.parameter && place.phase == "backward") {
    return span.kind == EventKind::kGradientReady && span.value == *place.parameter;
  }
  if (place.bucket) {
    return span.kind == EventKind::kCollective && span.bucket == *place.bucket;
  }
  if (place.ticks != 0) {
    const double ns = model.toNs(place.ticks);
    return span.kind == EventKind::kCollective && span.startNs <= ns && ns <= span.endNs();
  }
  return trace::name(span.kind) == (place.phase.empty() ? "step" : std::string_view(place.phase));
}

}  // namespace

QString viewOf(const diagnosis::Finding& finding) {
  static const std::map<std::string_view, QString> kViews{
      {"calls_differ", QStringLiteral("divergence")},
      {"not_finite", QStringLiteral("divergence")},
      {"replicas_differ", QStringLiteral("divergence")},
      {"buckets", QStringLiteral("buckets")},
      {"transfer", QStringLiteral("overlap")},
      {"hook_costs", QStringLiteral("hooks")}};
  const auto view = kViews.find(finding.rule);
  return view == kViews.end() ? QStringLiteral("timeline") : view->second;
}

QString viewOf(const diagnosis::Remark& remark) {
  switch (remark.topic) {
    case diagnosis::Topic::kReplicas:
      return QStringLiteral("divergence");
    case diagnosis::Topic::kCost:
    case diagnosis::Topic::kOverlap:
      return QStringLiteral("overlap");
    case diagnosis::Topic::kLate:
      // Where nobody is late, the ranks show how near to each other they are.
      return QString::fromLatin1(remark.place.step ? "timeline" : "ranks");
    case diagnosis::Topic::kSlowest:
      break;
  }
  return QStringLiteral("timeline");
}

std::optional<Span> spanAt(const RunModel& model, const diagnosis::Place& place) {
  const int rank = place.rank.value_or(0);
  const auto step = place.step ? model.step(rank, *place.step) : std::nullopt;
  if (!step) {
    return std::nullopt;
  }
  const std::uint64_t begin = model.toTicks(step->startNs);
  const std::uint64_t end = model.toTicks(step->endNs);
  for (const Lane& lane : model.lanes()) {
    if (rankOfLane(lane.id) != rank) {
      continue;
    }
    for (std::size_t row = 0; row < lane.rows.size(); ++row) {
      const run::SpanStore& store = lane.rows[row];
      for (std::size_t i = store.firstEndingAfter(begin);
           i < store.size() && store.startAt(i) <= end; ++i) {
        const Span span = model.spanAt(lane.id, static_cast<int>(row), i);
        if (span.step == *place.step && isMeant(model, span, place)) {
          return span;
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace lockstep::ui
