#include "ui/views/buckets/BucketsTableRows.h"

#include <utility>

#include "ui/model/Format.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/views/buckets/BucketFacts.h"

namespace lockstep::ui {

// A number of a parameter sorts by the order of registration, a bucket by the order within it.
BucketsTableRows::BucketsTableRows(std::shared_ptr<const BucketStory> story)
    : TableRows(
          {{tr("Param"), tr("The parameter; sorts by the order of registration"), false, true},
           {tr("Shape"), tr("Its sizes by dimension"), false, true},
           {tr("Bytes"), tr("Bytes of its gradient"), true},
           {tr("Bucket"), tr("Its bucket; sorts by the order within the buckets, too"), true}}),
      story_(std::move(story)) {
  for (std::size_t rank = 0; rank < ranks(); ++rank) {
    columns_.push_back(
        {tr("Ready ms, rank %1").arg(story_->orders[rank].rank),
         tr("Milliseconds from the start of the iteration on the first rank to begin it, until "
            "the gradient was ready on this rank; ▲: out of bucket order"),
         true});
  }
  columns_.push_back(
      {tr("Order"), tr("Its place in the ready order; one a rank where they differ"), false, true});
  columns_.push_back(
      {tr("Waits for"),
       tr("What its launch waited for on the rank where that took longest: the last gradient of "
          "its bucket, then an earlier bucket, and how long in ms"),
       false, true});
}

// Null when it was never ready on the rank of that column.
const analysis::ReadyGradient* BucketsTableRows::readyIn(std::size_t column,
                                                         std::size_t row) const {
  return story_->readyOn(static_cast<int>(column - kFirstReady), static_cast<std::uint32_t>(row));
}

QString BucketsTableRows::text(std::size_t row, std::size_t column) const {
  const auto parameter = static_cast<std::uint32_t>(row);
  switch (column) {
    case kParameter:
      return story_->nameOf(parameter);
    case kShape:
      return shapeText(*story_, parameter);
    case kBytes:
      return parameter < story_->parameters.size()
                 ? formatCount(static_cast<std::uint64_t>(story_->parameters[parameter].bytes))
                 : QString();
    case kBucket:
      return story_->bucketOf[parameter] == trace::kNoBucket
                 ? tr("–")
                 : QString::number(story_->bucketOf[parameter]);
    default:
      break;
  }
  if (column < orderColumn()) {
    const auto* gradient = readyIn(column, row);
    if (gradient == nullptr) {
      return tr("–");
    }
    const QString mark = gradient->unused           ? QStringLiteral("unused ")
                         : gradient->againstBuckets ? QStringLiteral("▲ ")
                                                    : QString();
    return mark + QString::number(story_->ns(gradient->ticks) / 1e6, 'f', 3);
  }
  const QString text =
      column == orderColumn() ? orderText(*story_, parameter) : waitText(*story_, parameter);
  return text.isEmpty() ? tr("–") : text;
}

std::optional<double> BucketsTableRows::number(std::size_t row, std::size_t column) const {
  switch (column) {
    case kParameter:
      return static_cast<double>(row);
    // Shapes sort by their bytes: texts of sizes have no order.
    case kShape:
    case kBytes:
      return row < story_->parameters.size()
                 ? std::optional(static_cast<double>(story_->parameters[row].bytes))
                 : std::nullopt;
    case kBucket:
      return story_->placeInBuckets[row];
    default:
      break;
  }
  if (column < orderColumn()) {
    const auto* gradient = readyIn(column, row);
    return gradient == nullptr ? std::nullopt : std::optional(story_->ns(gradient->ticks));
  }
  if (column == orderColumn()) {
    // By the first rank: others may differ, and one order is needed.
    const auto* gradient = readyIn(kFirstReady, row);
    return gradient == nullptr
               ? std::nullopt
               : std::optional(static_cast<double>(gradient - story_->orders[0].gradients.data()));
  }
  // Parameters without a wait come before all others.
  return longestWaitNs(*story_, static_cast<std::uint32_t>(row)).value_or(-1);
}

QVariant BucketsTableRows::look(std::size_t row, std::size_t column, int role) const {
  if (role == Qt::DecorationRole && column == kBucket &&
      story_->bucketOf[row] != trace::kNoBucket) {
    return currentPalette().bucket(story_->bucketOf[row]);
  }
  if (role == Qt::ForegroundRole && column >= kFirstReady && column < orderColumn()) {
    const auto* gradient = readyIn(column, row);
    if (gradient != nullptr && gradient->againstBuckets) {
      return currentPalette().warning;
    }
  }
  return {};
}

}  // namespace lockstep::ui
