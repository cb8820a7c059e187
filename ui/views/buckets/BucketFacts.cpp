#include "ui/views/buckets/BucketFacts.h"

#include <algorithm>

#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

using analysis::BucketCap;
using analysis::BucketEnd;
using analysis::BucketTimes;
using Kind = BucketsHit::Kind;

std::uint64_t bytesOf(const BucketStory& story, std::uint32_t parameter) {
  return parameter < story.parameters.size()
             ? static_cast<std::uint64_t>(story.parameters[parameter].bytes)
             : 0;
}

const BucketTimes& timesOf(const BucketStory& story, int bucket, int rank) {
  return story.lives[static_cast<std::size_t>(bucket)].ranks[static_cast<std::size_t>(rank)];
}

QString rankName(const BucketStory& story, int rank) {
  return QStringLiteral("rank %1").arg(story.orders[static_cast<std::size_t>(rank)].rank);
}

// Leaves out what was not recorded: a card has no empty lines.
void addTime(Facts& facts, const BucketStory& story, const QString& name,
             const std::optional<std::uint64_t>& ticks, const QString& more = {}) {
  if (ticks) {
    facts.push_back({name, momentText(story.ns(*ticks)) + more});
  }
}

FactCard bucketCard(const BucketStory& story, int bucket) {
  const auto& of = story.layout.buckets[static_cast<std::size_t>(bucket)];
  FactCard card;
  card.title = QStringLiteral("bucket %1 of %2").arg(bucket).arg(story.layout.buckets.size());
  card.bucket = bucket;
  card.facts.add("Size", formatBytes(of.bytes) + QStringLiteral(", ") +
                             formatCounted(of.parameters.size(), "parameter") +
                             QStringLiteral(", ") + QString::fromStdString(of.dtype));
  card.facts.add("Cap", capText(story, bucket));
  const BucketCap& cap = story.caps[static_cast<std::size_t>(bucket)];
  if (cap.overshootBytes > 0) {
    card.facts.add("Over the cap", formatBytes(cap.overshootBytes));
  }
  card.facts.add("Why it ends", capSentence(story, bucket));
  return card;
}

FactCard parameterCard(const BucketStory& story, std::uint32_t parameter) {
  FactCard card;
  card.title = story.nameOf(parameter);
  const std::uint16_t bucket = story.bucketOf[parameter];
  card.bucket = bucket == trace::kNoBucket ? -1 : bucket;
  if (const QString shape = shapeText(story, parameter); !shape.isEmpty()) {
    card.facts.add("Shape", shape);
    card.facts.add("Bytes", QStringLiteral("%1 (%2)").arg(formatBytes(bytesOf(story, parameter)),
                                                          formatCount(bytesOf(story, parameter))));
  }
  card.facts.add("Bucket", card.bucket < 0 ? QStringLiteral("none: it is averaged apart")
                                           : QString::number(card.bucket));
  card.facts.add("Registered",
                 QStringLiteral("as %1 of %2").arg(parameter + 1).arg(story.bucketOf.size()));
  // A preview knows sizes and nothing of times.
  if (!story.measured()) {
    return card;
  }
  // A card of more lines would not fit beside the pointer; the table has all ranks.
  constexpr int kRanksShown = 8;
  for (int rank = 0; rank < std::min(story.rankCount(), kRanksShown); ++rank) {
    const analysis::ReadyGradient* gradient = story.readyOn(rank, parameter);
    QString text = QStringLiteral("no gradient recorded in this iteration");
    if (gradient != nullptr) {
      text = momentText(story.ns(gradient->ticks));
      text += gradient->unused ? QStringLiteral(", unused: counted without a gradient") : QString();
      text += gradient->againstBuckets ? QStringLiteral(", out of bucket order") : QString();
      text += gradient->againstFirstRank ? QStringLiteral(", another place than on the first rank")
                                         : QString();
    }
    card.facts.push_back({QStringLiteral("Ready, ") + rankName(story, rank), text});
  }
  card.facts.addKnown("Order", orderText(story, parameter));
  card.facts.addKnown("Waited for", waitText(story, parameter));
  return card;
}

FactCard timesCard(const BucketStory& story, int bucket, int rank) {
  const BucketTimes& times = timesOf(story, bucket, rank);
  const analysis::BucketLife& life = story.lives[static_cast<std::size_t>(bucket)];
  FactCard card;
  card.title = QStringLiteral("bucket %1 on %2").arg(bucket).arg(rankName(story, rank));
  card.bucket = bucket;
  addTime(card.facts, story, QStringLiteral("First gradient"), times.firstGradientTicks);
  addTime(
      card.facts, story, QStringLiteral("Last gradient"), times.lastGradientTicks,
      times.lastParameter ? QStringLiteral(", ") + story.nameOf(*times.lastParameter) : QString());
  addTime(card.facts, story, QStringLiteral("Ready"), times.readyTicks);
  QString stalled;
  // Ready, and held back only by the order: buckets are launched one after the other.
  if (times.stallTicks() > 0) {
    const double ns = static_cast<double>(times.stallTicks()) * story.nsPerTick;
    stalled = QStringLiteral(", stalled %1 behind bucket %2 (buckets are launched in order)")
                  .arg(formatDuration(ns))
                  .arg(*times.stalledBehind);
  }
  addTime(card.facts, story, QStringLiteral("Launched"), times.launchedTicks, stalled);
  addTime(card.facts, story, QStringLiteral("Communication"), times.beganTicks,
          times.queuedBehind
              ? QStringLiteral(", queued behind that of bucket %1").arg(*times.queuedBehind)
              : QString());
  // Who came last is known, and how long this rank waited for it.
  if (life.metTicks && times.beganTicks && life.lastRank) {
    if (*life.lastRank == times.rank) {
      card.facts.add("Arrived", QStringLiteral("last; the others waited"));
    } else {
      const double ns = static_cast<double>(*life.metTicks - *times.beganTicks) * story.nsPerTick;
      card.facts.add(
          "Arrived",
          QStringLiteral("waited %1 for rank %2").arg(formatDuration(ns)).arg(*life.lastRank));
    }
  }
  addTime(card.facts, story, QStringLiteral("Done"), times.endedTicks);
  if (const std::uint64_t exposed = analysis::length(story.exposedOn(rank, bucket)); exposed > 0) {
    card.facts.add("Exposed",
                   QStringLiteral("%1 of it: nothing was computed meanwhile")
                       .arg(formatDuration(static_cast<double>(exposed) * story.nsPerTick)));
  }
  addTime(card.facts, story, QStringLiteral("Copied out"), times.copiedOutTicks);
  if (card.facts.empty()) {
    card.facts.add("Times", QStringLiteral("nothing was recorded in this iteration"));
  } else if (!times.launchedTicks) {
    card.facts.add("Launched", QStringLiteral("not in this iteration"));
  }
  return card;
}

FactCard orderCard(const BucketStory& story, int rank) {
  FactCard card;
  card.title = QStringLiteral("ready order, ") + rankName(story, rank);
  card.facts.add("Buckets", orderSentence(story, rank, OrderAgainst::kBuckets));
  card.facts.add("Registration", orderSentence(story, rank, OrderAgainst::kRegistration));
  card.facts.addKnown("Ranks", rankSentence(story, rank));
  card.facts.add("Meaning",
                 QStringLiteral("Marked are the fewest parameters that would have to move "
                                "for the others to stand in order."));
  return card;
}

}  // namespace

std::optional<FactCard> describeHit(const BucketStory& story, const BucketsHit& hit) {
  switch (hit.kind) {
    case Kind::kBucket:
      return bucketCard(story, hit.bucket);
    case Kind::kParameter:
    case Kind::kDot:
      return parameterCard(story, static_cast<std::uint32_t>(hit.parameter));
    // A fold stands for its bucket: only the title says which parameters it joins.
    case Kind::kFold: {
      FactCard card = bucketCard(story, hit.bucket);
      card.title = QStringLiteral("%1 parameters from %2 on")
                       .arg(hit.count)
                       .arg(story.nameOf(static_cast<std::uint32_t>(hit.parameter)));
      return card;
    }
    case Kind::kTimes:
      return timesCard(story, hit.bucket, hit.rank);
    case Kind::kOrder:
      return orderCard(story, hit.rank);
    case Kind::kNothing:
    case Kind::kAxis:
      return std::nullopt;
  }
  return std::nullopt;
}

QString capText(const BucketStory& story, int bucket) {
  // A limit of 0 is none, where an experiment set it; of a job that was only recorded it is
  // unknown.
  const std::uint64_t limit = story.layout.buckets[static_cast<std::size_t>(bucket)].limitBytes;
  if (limit == 0) {
    return story.observed ? QStringLiteral("not told") : QStringLiteral("none");
  }
  QString text = formatBytes(limit);
  if (!story.config) {
    return text;
  }
  // Caps are given in MiB and rounded to bytes, so the key is found by doing the same.
  const auto matches = [limit](double mebibytes) {
    const auto bytes = buckets::capBytes(mebibytes);
    return bytes.ok() && bytes.value() == limit;
  };
  const auto named = [&](const char* key, double mebibytes) {
    return text + QStringLiteral(" (%1 = %2 MiB)").arg(QLatin1String(key)).arg(mebibytes);
  };
  if (!story.config->bucketCapMbList.empty()) {
    for (const double mebibytes : story.config->bucketCapMbList) {
      if (matches(mebibytes)) {
        return named("ddp.bucket_cap_mb_list: one", mebibytes);
      }
    }
    return text;
  }
  // The first limit serves one bucket of each kind; which one that is hangs on the layout.
  if (matches(story.config->firstBucketMb) && !matches(story.config->bucketCapMb)) {
    return named("ddp.first_bucket_mb", story.config->firstBucketMb);
  }
  return matches(story.config->bucketCapMb) ? named("ddp.bucket_cap_mb", story.config->bucketCapMb)
                                            : text;
}

QString capSentence(const BucketStory& story, int bucket) {
  const BucketCap& cap = story.caps[static_cast<std::size_t>(bucket)];
  const auto& of = story.layout.buckets[static_cast<std::size_t>(bucket)];
  if (story.observed && cap.limitBytes == 0) {
    return QStringLiteral(
        "The job does not tell the caps of its buckets, so why it ends here is not known.");
  }
  switch (cap.end) {
    case BucketEnd::kNoLimit:
      return QStringLiteral(
          "No cap before the order of the gradients is known: all parameters of one type share a "
          "bucket until the buckets are rebuilt.");
    case BucketEnd::kSparse:
      return QStringLiteral(
          "A gradient that is expected to be sparse has a bucket of its own; no cap applies.");
    case BucketEnd::kLeftOver:
      return QStringLiteral("No parameters of its type were left: it stayed %1 under its cap.")
          .arg(formatBytes(cap.limitBytes - of.bytes));
    case BucketEnd::kReached:
      break;
  }
  const QString last = cap.lastParameter ? story.nameOf(*cap.lastParameter) : QString();
  QString text = QStringLiteral(
      "A bucket closes once it holds its cap or more, and a parameter is never split: ");
  text += of.parameters.size() == 1
              ? QStringLiteral("%1 alone is %2").arg(last, formatBytes(of.bytes))
              : QStringLiteral("%1 took it from %2 to %3")
                    .arg(last, formatBytes(cap.beforeLastBytes), formatBytes(of.bytes));
  text += cap.overshootBytes > 0
              ? QStringLiteral(", %1 over the cap.").arg(formatBytes(cap.overshootBytes))
              : QStringLiteral(", exactly its cap.");
  return text;
}

}  // namespace lockstep::ui
