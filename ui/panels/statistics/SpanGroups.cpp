#include "ui/panels/statistics/SpanGroups.h"

#include <QCoreApplication>
#include <algorithm>
#include <array>

#include "engine/analysis/SpanStatistics.h"
#include "engine/export/EventTable.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"
#include "engine/trace/UserPhases.h"
#include "ui/model/SpanQuery.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

QString translated(const char* text) {
  return QCoreApplication::translate("SpanGroups", text);
}

struct GroupWords {
  const char* title;
  const char* meaning;
};

// In the order of GroupBy.
constexpr std::array<GroupWords, kGroupings> kGroupWords{{
    {"Name", "Spans of one name, over all buckets and ranks"},
    {"Name and bucket", "Spans of one name about one bucket"},
    {"Bucket", "All that happens to one bucket"},
    {"Hook phase and bucket",
     "Encode, communicate and decode of the communication hook, by bucket"},
    {"Rank", "All that one rank recorded"},
    {"Step phase", "All that began while its rank was in that phase of its step"},
    {"Rank, name and bucket",
     "Spans of one name about one bucket on one rank, as lockstep export has them"},
}};

}  // namespace

QString titleOf(GroupBy by) {
  return translated(kGroupWords[static_cast<std::size_t>(by)].title);
}

QString meaningOf(GroupBy by) {
  return translated(kGroupWords[static_cast<std::size_t>(by)].meaning);
}

std::uint32_t SpanGroups::group(const QString& name, const QString& query,
                                const exports::StatisticsKey& key) {
  const auto known = known_.constFind(name);
  if (known != known_.cend()) {
    return *known;
  }
  const auto index = static_cast<std::uint32_t>(groups_.size());
  groups_.push_back({name, query, key});
  known_.insert(name, index);
  return index;
}

// Note [Groups of spans]
//
// What makes two spans members of one group:
//
//                     name   bucket   rank
//   kName               x
//   kNameAndBucket      x       x
//   kBucket                     x
//   kHook               x       x            of the spans in a hook's lane
//   kRank                               x
//   kAll                x       x       x
//   kPhase            when they began (phaseOf)
//
// Each group has a name, a query that finds its spans again and a key for files, all made of the
// same parts. Spans come by millions and groups by hundreds, so what a name is made of is packed
// into 64 bits first (rank 63..40, kind 39..32, detail 31..16, bucket 15..0), and only the first
// span of a group has its name written. That does not do for kinds whose name holds the value:
// their names are written each time and looked up (known_).
std::uint32_t SpanGroups::groupOf(const Span& span) {
  if (by_ == GroupBy::kHook && span.role() != LaneRole::kHook) {
    return analysis::kNoGroup;
  }
  if (by_ == GroupBy::kPhase) {
    return analysis::kNoGroup;
  }
  const bool named = by_ != GroupBy::kBucket && by_ != GroupBy::kRank;
  const bool bucketed = by_ != GroupBy::kName && by_ != GroupBy::kRank;
  const bool ranked = by_ == GroupBy::kRank || by_ == GroupBy::kAll;
  const std::uint64_t key = (ranked ? static_cast<std::uint64_t>(span.rank()) << 40 : 0) |
                            (named ? static_cast<std::uint64_t>(span.kind) << 32 |
                                         static_cast<std::uint64_t>(span.detail) << 16
                                   : 0) |
                            (bucketed ? span.bucket : 0);
  // Of these the value is part of the name.
  const bool quick = span.kind != EventKind::kFault && span.kind != EventKind::kParallelApply &&
                     !trace::isNamed(span.kind);
  if (quick) {
    if (const auto known = quick_.constFind(key); known != quick_.cend()) {
      return *known;
    }
  }
  QStringList names;
  QStringList conditions;
  if (named) {
    names << nameOf(span);
    conditions << condition(QStringLiteral("name"), names.last());
  }
  if (bucketed && span.hasBucket()) {
    names << translated("bucket %1").arg(span.bucket);
    conditions << QStringLiteral("bucket:%1").arg(span.bucket);
  } else if (bucketed) {
    conditions << QStringLiteral("bucket:none");
    if (!named) {
      names << translated("no bucket");
    }
  }
  if (ranked) {
    names << translated("rank %1").arg(span.rank());
    conditions << QStringLiteral("rank:%1").arg(span.rank());
  }
  exports::StatisticsKey common;
  if (ranked) {
    common.rank = span.rank();
  }
  if (named) {
    common.kind = span.kind;
    common.what = exports::whatOf(span.kind, span.detail, span.value);
  }
  if (bucketed) {
    common.bucket = span.bucket;
  }
  const std::uint32_t index =
      group(names.join(QStringLiteral(", ")), conditions.join(QLatin1Char(' ')), common);
  if (quick) {
    quick_.insert(key, index);
  }
  return index;
}

// Phases of a rank come one after the other (run::kPhase), so a time lies in the last one that
// began before it, or between two.
void SpanGroups::notePhase(const Span& span) {
  if (run::has(span.kind, run::kPhase)) {
    exports::StatisticsKey common;
    common.kind = span.kind;
    common.what = exports::whatOf(span.kind, span.detail, span.value);
    phases_[span.rank()].push_back(
        {span.startNs, span.endNs(), group(nameOf(span), QString(), common)});
  }
}

void SpanGroups::endPhases() {
  for (auto& [rank, phases] : phases_) {
    std::ranges::sort(phases, {}, &Phase::startNs);
  }
}

std::uint32_t SpanGroups::phaseOf(int rank, double ns) {
  const auto found = phases_.find(rank);
  if (found != phases_.end()) {
    const auto& phases = found->second;
    const auto after = std::ranges::upper_bound(phases, ns, {}, &Phase::startNs);
    if (after != phases.begin() && ns < (after - 1)->endNs) {
      return (after - 1)->group;
    }
  }
  exports::StatisticsKey common;
  common.what = "between_phases";
  return group(translated("between phases"), QString(), common);
}

}  // namespace lockstep::ui
