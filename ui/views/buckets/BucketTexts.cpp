#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "ui/model/Format.h"
#include "ui/model/StartingLarge.h"
#include "ui/views/buckets/BucketFacts.h"

namespace lockstep::ui {
namespace {

using analysis::BucketStage;

struct LongestWait {
  analysis::GradientWait wait;
  int rank = 0;
};

// On which rank a parameter waited longest, over all ranks that had it ready.
std::optional<LongestWait> longestWait(const BucketStory& story, std::uint32_t parameter) {
  std::optional<LongestWait> longest;
  const std::uint16_t bucket = story.bucketOf[parameter];
  for (int rank = 0; rank < story.rankCount() && bucket < story.lives.size(); ++rank) {
    const analysis::ReadyGradient* gradient = story.readyOn(rank, parameter);
    if (gradient == nullptr) {
      continue;
    }
    const auto& times = story.lives[bucket].ranks[static_cast<std::size_t>(rank)];
    const auto wait = analysis::waitOf(*gradient, times);
    if (wait && (!longest || wait->ticks > longest->wait.ticks)) {
      longest = LongestWait{*wait, times.rank};
    }
  }
  return longest;
}

}  // namespace

QString momentText(double ns) {
  // Three decimals of a ms, whatever the size, so that moments compare at a glance.
  return formatTime(ns, 1e3, 1e6);
}

QString shapeText(const BucketStory& story, std::uint32_t parameter) {
  return parameter < story.parameters.size() ? formatShape(story.parameters[parameter].shape)
                                             : QString();
}

std::optional<double> longestWaitNs(const BucketStory& story, std::uint32_t parameter) {
  const auto longest = longestWait(story, parameter);
  return longest ? std::optional(static_cast<double>(longest->wait.ticks) * story.nsPerTick)
                 : std::nullopt;
}

QString waitText(const BucketStory& story, std::uint32_t parameter) {
  const auto longest = longestWait(story, parameter);
  if (!longest) {
    return {};
  }
  QStringList parts;
  if (longest->wait.forParameter) {
    parts << story.nameOf(*longest->wait.forParameter);
  }
  if (longest->wait.forBucket) {
    parts << QStringLiteral("bucket %1").arg(*longest->wait.forBucket);
  }
  if (parts.isEmpty()) {
    return QStringLiteral("nothing: the last of its bucket");
  }
  QString text = parts.join(QStringLiteral(", then ")) + QStringLiteral(": ") +
                 momentText(static_cast<double>(longest->wait.ticks) * story.nsPerTick);
  if (story.rankCount() > 1) {
    text += QStringLiteral(" on rank %1").arg(longest->rank);
  }
  return text;
}

QString orderText(const BucketStory& story, std::uint32_t parameter) {
  QStringList places;
  for (int rank = 0; rank < story.rankCount(); ++rank) {
    const analysis::ReadyGradient* gradient = story.readyOn(rank, parameter);
    const auto& all = story.orders[static_cast<std::size_t>(rank)].gradients;
    places << (gradient == nullptr
                   ? QStringLiteral("–")
                   : formatOrdinal(static_cast<std::size_t>(gradient - all.data()) + 1));
  }
  // One place where all ranks agree, else that of each.
  const bool none = places.count(QStringLiteral("–")) == places.size();
  const bool alike = places.count(places.value(0)) == places.size();
  return none ? QString() : alike ? places.value(0) : places.join(QStringLiteral(", "));
}

QString stageName(BucketStage stage) {
  static constexpr std::array kNames{"empty",    "filling",   "ready, not launched",
                                     "launched", "in flight", "done"};
  return QString::fromLatin1(kNames[static_cast<std::size_t>(stage)]);
}

QString replayText(const BucketStory& story, std::optional<double> replayNs) {
  if (!story.measured()) {
    return {};
  }
  const QString end = momentText(story.range.endNs);
  if (!replayNs) {
    return QStringLiteral("ends at ") + end;
  }
  QString text = QString::number(*replayNs / 1e6, 'f', 3) + QStringLiteral(" of ") + end;
  // The last moment that is over at the time shown.
  const auto next = std::ranges::upper_bound(story.moments, story.ticksAt(*replayNs), {},
                                             &analysis::ReplayMoment::ticks);
  // Before the first moment there is nothing to say yet.
  if (next == story.moments.begin()) {
    return text;
  }
  const analysis::ReplayMoment& moment = *(next - 1);
  static constexpr std::array kWhat{" ready", " ready", " launched", " in flight", " done"};
  const QString of = moment.what == analysis::ReplayMoment::What::kGradient
                         ? story.nameOf(moment.parameter)
                         : QStringLiteral("bucket %1").arg(moment.bucket);
  const QString what = of + QLatin1String(kWhat[static_cast<std::size_t>(moment.what)]);
  return text + QStringLiteral(": %1 on rank %2").arg(what).arg(moment.rank);
}

QStringList longestWaits(const BucketStory& story, int rank, int count) {
  std::vector<std::pair<double, QString>> waits;
  const auto add = [&](std::uint64_t ticks, const QString& text) {
    const double ns = static_cast<double>(ticks) * story.nsPerTick;
    // What is under a hundredth of the shown time is no answer to "what did it wait for".
    if (ns > story.range.lengthNs() / 100) {
      waits.emplace_back(ns, text.arg(formatDuration(ns)));
    }
  };
  for (std::size_t b = 0; b < story.lives.size(); ++b) {
    const analysis::BucketLife& life = story.lives[b];
    const analysis::BucketTimes& times = life.ranks[static_cast<std::size_t>(rank)];
    const QString name = QStringLiteral("bucket %1 ").arg(b);
    if (times.stallTicks() > 0) {
      add(times.stallTicks(), name + QStringLiteral("stalled %1 behind bucket ") +
                                  QString::number(*times.stalledBehind));
    }
    if (times.queuedBehind) {
      add(*times.beganTicks - *times.launchedTicks,
          name + QStringLiteral("queued %1 behind bucket ") + QString::number(*times.queuedBehind));
    }
    // The last rank itself waited for nobody.
    if (life.lastRank && *life.lastRank != times.rank && times.beganTicks) {
      add(*life.metTicks - *times.beganTicks,
          name + QStringLiteral("waited %1 for rank ") + QString::number(*life.lastRank));
    }
  }
  std::stable_sort(waits.begin(), waits.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  QStringList texts;
  for (std::size_t i = 0; i < std::min(waits.size(), static_cast<std::size_t>(count)); ++i) {
    texts << waits[i].second;
  }
  return texts;
}

QString orderSentence(const BucketStory& story, int rank, OrderAgainst against) {
  const analysis::ReadyOrder& order = story.orders[static_cast<std::size_t>(rank)];
  const bool buckets = against == OrderAgainst::kBuckets;
  const std::uint32_t out = buckets ? order.againstBuckets : order.againstRegistration;
  // Gradients come from the last layer to the first, so the expected order is the reverse of the
  // registration.
  const QString what =
      buckets ? QStringLiteral("bucket order") : QStringLiteral("the reverse of the registration");
  if (order.gradients.empty()) {
    return QStringLiteral("no gradients recorded");
  }
  return out == 0 ? QStringLiteral("in ") + what
                  : QStringLiteral("%1 of %2 out of %3")
                        .arg(out)
                        .arg(order.gradients.size())
                        .arg(buckets ? what : QStringLiteral("reverse registration"));
}

QString rankSentence(const BucketStory& story, int rank) {
  const analysis::ReadyOrder& order = story.orders[static_cast<std::size_t>(rank)];
  if (rank == 0 || order.gradients.empty() || story.orders.front().gradients.empty()) {
    return {};
  }
  const int first = story.orders.front().rank;
  return order.againstFirstRank == 0 ? QStringLiteral("the same order as rank %1").arg(first)
                                     : QStringLiteral("%1 in another place than on rank %2")
                                           .arg(order.againstFirstRank)
                                           .arg(first);
}

QString spokenSummary(const BucketStory& story) {
  QStringList parts;
  parts << QStringLiteral("%1 of %2, %3.")
               .arg(formatCounted(story.layout.buckets.size(), "bucket"),
                    formatBytes(story.bytes()),
                    story.preview             ? QStringLiteral("computed from shapes")
                    : story.layout.layout > 0 ? QStringLiteral("rebuilt")
                                              : QStringLiteral("as constructed"));
  if (!story.preview) {
    parts << QStringLiteral("Iteration %1.").arg(story.step);
  }
  for (int rank = 0; rank < story.rankCount(); ++rank) {
    const auto number = story.orders[static_cast<std::size_t>(rank)].rank;
    QString text = QStringLiteral("Rank %1: %2")
                       .arg(number)
                       .arg(orderSentence(story, rank, OrderAgainst::kBuckets));
    if (const QString other = rankSentence(story, rank); !other.isEmpty()) {
      text += QStringLiteral(", ") + other;
    }
    parts << text + QLatin1Char('.');
  }
  for (std::size_t b = 0; b < story.lives.size(); ++b) {
    for (const analysis::BucketTimes& times : story.lives[b].ranks) {
      if (times.stallTicks() > 0) {
        parts << QStringLiteral("Bucket %1 stalled %2 behind bucket %3 on rank %4.")
                     .arg(b)
                     .arg(formatDuration(static_cast<double>(times.stallTicks()) * story.nsPerTick))
                     .arg(*times.stalledBehind)
                     .arg(times.rank);
      }
    }
  }
  return parts.join(QLatin1Char(' '));
}

QString whyNoBuckets(const RunModel* model, BucketStories& stories) {
  if (model == nullptr) {
    return QStringLiteral(
        "No run is open. Start an experiment or open a run file, and its "
        "buckets appear here.");
  }
  if (!model->isLoaded() && !model->path().empty()) {
    return QStringLiteral("Reading the run…");
  }
  if (stories.isDataParallel()) {
    return QStringLiteral(
        "DataParallel has no buckets: device 0 sums the gradients of all "
        "replicas after the backward. Run it with processes.strategy = \"ddp\" "
        "to see some.");
  }
  if (!model->ranks().empty()) {
    // A run may say itself why it has none.
    const auto& facts = model->ranks().front().environment;
    if (const auto why = facts.find(trace::kNoBuckets); why != facts.end()) {
      return startingLarge(why->second) + QLatin1Char('.');
    }
  }
  if (model->isLive()) {
    return QStringLiteral("Buckets appear after the first backward.");
  }
  if (model->info().kind == trace::RunKind::kImported) {
    return QStringLiteral(
        "What was imported does not tell the buckets of DistributedDataParallel.");
  }
  return QStringLiteral("This run ended before DistributedDataParallel told its buckets.");
}

}  // namespace lockstep::ui
