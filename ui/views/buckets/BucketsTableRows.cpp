#include "ui/views/buckets/BucketsTableRows.h"

#include <utility>

#include "ui/model/Format.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/views/buckets/BucketFacts.h"

namespace lockstep::ui {

// A number of a parameter sorts by the order of registration, a bucket by the order within it.
BucketsTableRows::BucketsTableRows(std::shared_ptr<const BucketStory> story)
    : story_(std::move(story)) {
  const Number bytes = [this](std::size_t row) {
    return row < story_->parameters.size()
               ? std::optional(static_cast<double>(story_->parameters[row].bytes))
               : std::nullopt;
  };
  words(
      {tr("Param"), tr("The parameter; sorts by the order of registration")},
      [this](std::size_t row) { return story_->nameOf(static_cast<std::uint32_t>(row)); },
      [](std::size_t row) { return static_cast<double>(row); });
  words(
      {tr("Shape"), tr("Its sizes by dimension")},
      [this](std::size_t row) { return shapeText(*story_, static_cast<std::uint32_t>(row)); },
      bytes);
  words(
      {tr("Bytes"), tr("Bytes of its gradient"), true},
      [bytes](std::size_t row) {
        const auto known = bytes(row);
        return known ? formatCount(static_cast<std::uint64_t>(*known)) : QString();
      },
      bytes);
  words(
      {tr("Bucket"), tr("Its bucket; sorts by the order within the buckets, too"), true},
      [this](std::size_t row) {
        const auto bucket = story_->bucketOf[row];
        return bucket == trace::kNoBucket ? tr("–") : QString::number(bucket);
      },
      [this](std::size_t row) { return story_->placeInBuckets[row]; });
  for (std::size_t rank = 0; rank < ranks(); ++rank) {
    addRank(static_cast<int>(rank));
  }
  addWords(tr("Order"), tr("Its place in the ready order; one a rank where they differ"), orderText,
           [this](std::size_t row) {
             const auto* gradient = story_->readyOn(0, static_cast<std::uint32_t>(row));
             return gradient == nullptr ? std::nullopt
                                        : std::optional(static_cast<double>(
                                              gradient - story_->orders[0].gradients.data()));
           });
  addWords(tr("Waits for"),
           tr("What its launch waited for on the rank where that took longest: the last gradient "
              "of its bucket, then an earlier bucket, and how long in ms"),
           waitText, [this](std::size_t row) {
             return longestWaitNs(*story_, static_cast<std::uint32_t>(row)).value_or(-1);
           });
}

void BucketsTableRows::addRank(int rank) {
  const auto ready = [this, rank](std::size_t row) {
    return story_->readyOn(rank, static_cast<std::uint32_t>(row));
  };
  words(
      {tr("Ready ms, rank %1").arg(story_->orders[static_cast<std::size_t>(rank)].rank),
       tr("Milliseconds from the start of the iteration on the first rank to begin it, until "
          "the gradient was ready on this rank; ▲: out of bucket order"),
       true},
      [this, ready](std::size_t row) {
        const auto* gradient = ready(row);
        if (gradient == nullptr) {
          return tr("–");
        }
        const QString mark = gradient->unused           ? QStringLiteral("unused ")
                             : gradient->againstBuckets ? QStringLiteral("▲ ")
                                                        : QString();
        return mark + QString::number(story_->ns(gradient->ticks) / 1e6, 'f', 3);
      },
      [this, ready](std::size_t row) {
        const auto* gradient = ready(row);
        return gradient == nullptr ? std::nullopt : std::optional(story_->ns(gradient->ticks));
      });
}

void BucketsTableRows::addWords(const QString& title, const QString& tip,
                                QString (*text)(const BucketStory&, std::uint32_t), Number number) {
  words(
      {title, tip},
      [this, text](std::size_t row) {
        const QString said = text(*story_, static_cast<std::uint32_t>(row));
        return said.isEmpty() ? tr("–") : said;
      },
      std::move(number));
}

QVariant BucketsTableRows::look(std::size_t row, std::size_t column, int role) const {
  if (role == Qt::DecorationRole && column == kBucket &&
      story_->bucketOf[row] != trace::kNoBucket) {
    return currentPalette().bucket(story_->bucketOf[row]);
  }
  if (role == Qt::ForegroundRole && column >= kFirstReady && column < orderColumn()) {
    const auto* gradient =
        story_->readyOn(static_cast<int>(column - kFirstReady), static_cast<std::uint32_t>(row));
    if (gradient != nullptr && gradient->againstBuckets) {
      return currentPalette().warning;
    }
  }
  return {};
}

}  // namespace lockstep::ui
