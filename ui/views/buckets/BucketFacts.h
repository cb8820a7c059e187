#pragma once

#include <QString>
#include <QStringList>
#include <optional>

#include "ui/model/SpanFacts.h"
#include "ui/views/buckets/BucketsLayout.h"

namespace lockstep::ui {

/// What a tooltip says: a title, its colour by bucket, and facts.
struct FactCard {
  QString title;
  int bucket = -1;
  Facts facts;
};

/// Describes what lies under the pointer; nothing where there is nothing to say.
std::optional<FactCard> describeHit(const BucketStory& story, const BucketsHit& hit);

/// Explains in a sentence why a bucket ends where it does.
QString capSentence(const BucketStory& story, int bucket);
/// Names a bucket's cap and the key that sets it: "492 KiB (ddp.bucket_cap_mb = 0.48 MiB)".
QString capText(const BucketStory& story, int bucket);
/// "64 × 784", "scalar"; empty for an unknown parameter.
QString shapeText(const BucketStory& story, std::uint32_t parameter);
/// What a parameter waited for on the rank where that took longest:
/// "layers.0.bias, then bucket 2: 3.120 ms on rank 1".
QString waitText(const BucketStory& story, std::uint32_t parameter);
/// How long that was in ns; nothing when it is not known.
std::optional<double> longestWaitNs(const BucketStory& story, std::uint32_t parameter);
/// "4th", or "4th, 6th" where ranks differ; empty when it was never ready.
QString orderText(const BucketStory& story, std::uint32_t parameter);
/// A moment of a step, in ms: "12.345 ms".
QString momentText(double ns);
/// "empty", "filling", "ready, not launched", ...
QString stageName(analysis::BucketStage stage);
/// "12.345 of 103.200 ms: bucket 2 launched on rank 1"; at the end the whole length alone.
QString replayText(const BucketStory& story, std::optional<double> replayNs);
/// What buckets waited for longest on a rank, the longest first, at most `count` sentences:
/// "bucket 3 stalled 18.6 ms behind bucket 2". Leaves out what is under a hundredth of the time.
QStringList longestWaits(const BucketStory& story, int rank, int count);
/// What stands out on a rank: "in bucket order", "3 of 14 out of bucket order".
QString orderSentence(const BucketStory& story, int rank, OrderAgainst against);
/// The same against the first rank; empty for the first rank and where it has nothing.
QString rankSentence(const BucketStory& story, int rank);
/// All that there is to see, in a few sentences: for a screen reader.
QString spokenSummary(const BucketStory& story);

/// Says in a sentence or two why there are no buckets to show; null: no run is open. [ui-thread]
QString whyNoBuckets(const RunModel* model, BucketStories& stories);

}  // namespace lockstep::ui
