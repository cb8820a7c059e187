#include "ui/views/buckets/BucketsLayout.h"

#include <algorithm>
#include <cmath>

namespace lockstep::ui {
namespace {

using namespace buckets_metrics;

constexpr double kNarrowCell = 3;
constexpr double kSmallestBand = 34;
constexpr double kLargestBand = 260;
constexpr double kLargestRow = 84;
constexpr double kDotReach = 7;

}  // namespace

// Note [The stage in one window]
//
//    header     titles, times
//    rows       a bucket each:  label | cells by bytes | a strip a rank over time
//    order      a band a rank:  label                  | dots over time
//
// Without measured times (a preview) there are cells alone, over the whole width. The rows get what
// they need up to about half of the height; the order gets at least 34 px a rank or 45 %, and what
// the rows leave. What does not fit is scrolled, rows and order each for themselves.
BucketsLayout::BucketsLayout(const BucketStory& story, QSizeF size, TimeRange shown,
                             double rowScroll, double orderScroll)
    : story_(story), size_(size) {
  const double left = story.measured()
                          ? std::clamp(size.width() * 0.4, std::min(300.0, size.width()), 820.0)
                          : size.width();
  const double below = std::max(0.0, size.height() - kHeader);
  const int ranks = story.rankCount();
  // A strip of 3 px a rank can still be told from its neighbour.
  const double leastRow = std::max(38.0, ranks * 3.0 + 10);
  // Rows get half of the room, and the rest of what the order leaves.
  const double orderLeast =
      story.measured() ? kOrderHeader + std::min(ranks * kSmallestBand, below * 0.45) : 0;
  const double wantedRow = (below - orderLeast) / std::max(1, bucketCount());
  rowHeight_ = std::clamp(std::min(wantedRow, below * 0.55 / std::max(1, bucketCount())), leastRow,
                          std::max(leastRow, kLargestRow));
  const double rowsWanted = rowHeight_ * bucketCount() + 6;
  const double orderHeight =
      story.measured() ? std::clamp(below - rowsWanted, orderLeast,
                                    std::max(orderLeast, kOrderHeader + ranks * kLargestBand))
                       : 0;
  rows_ =
      QRectF(0, kHeader, size.width(), std::min(rowsWanted, std::max(0.0, below - orderHeight)));
  map_ = QRectF(kLabelWidth, rows_.top(), std::max(20.0, left - kLabelWidth - kMargin * 2),
                rows_.height());
  rankGutter_ = story.ranksOfRun > 100 ? kWideRankGutter : kRankGutter;
  times_ = QRectF(left + rankGutter_, rows_.top(),
                  std::max(0.0, size.width() - left - rankGutter_ - kMargin), rows_.height());
  const double orderTop = rows_.bottom() + kOrderHeader;
  order_ = QRectF(0, orderTop, size.width(), std::max(0.0, orderHeight - kOrderHeader));
  bandHeight_ = ranks > 0 ? std::max(kSmallestBand, order_.height() / ranks) : 0;
  rowScroll_ = std::clamp(rowScroll, 0.0, maximumRowScroll());
  orderScroll_ = std::clamp(orderScroll, 0.0, maximumOrderScroll());
  axis_ = TimeAxis(shown.startNs, shown.endNs, times_.left(), std::max(1.0, times_.width()));

  // All rows have one scale, so that buckets can be compared by length.
  std::uint64_t most = 1;
  for (const auto& bucket : story.layout.buckets) {
    most = std::max(most, bucket.bytes);
  }
  bytesAcross_ = static_cast<double>(most);
  // Caps a little beyond the largest bucket are shown in their place.
  for (const auto& bucket : story.layout.buckets) {
    const auto limit = static_cast<double>(bucket.limitBytes);
    if (limit <= static_cast<double>(most) * 1.3) {
      bytesAcross_ = std::max(bytesAcross_, limit);
    }
  }
}

QRectF BucketsLayout::orderHeader() const {
  return QRectF(0, rows_.bottom(), size_.width(), hasOrder() ? kOrderHeader : 0);
}

double BucketsLayout::maximumRowScroll() const {
  return std::max(0.0, rowHeight_ * bucketCount() + 6 - rows_.height());
}

double BucketsLayout::maximumOrderScroll() const {
  return std::max(0.0, bandHeight_ * story_.rankCount() - order_.height());
}

QRectF BucketsLayout::row(int bucket) const {
  return QRectF(0, rows_.top() + 3 + bucket * rowHeight_ - rowScroll_, size_.width(), rowHeight_);
}

double BucketsLayout::xOfBytes(double bytes) const {
  return map_.left() + bytes / bytesAcross_ * map_.width();
}

std::optional<double> BucketsLayout::xOfCap(int bucket) const {
  const auto limit =
      static_cast<double>(story_.layout.buckets[static_cast<std::size_t>(bucket)].limitBytes);
  return limit > 0 && limit <= bytesAcross_ ? std::optional(xOfBytes(limit)) : std::nullopt;
}

std::vector<BucketsLayout::Cell> BucketsLayout::cells(int bucket) const {
  const auto& of = story_.layout.buckets[static_cast<std::size_t>(bucket)];
  const QRectF in = row(bucket);
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < of.parameters.size(); ++i) {
    const double begin = i < of.offsets.size() ? static_cast<double>(of.offsets[i]) : 0;
    const double end =
        static_cast<double>(i + 1 < of.offsets.size() ? of.offsets[i + 1] : of.bytes);
    const QRectF rect(QPointF(xOfBytes(begin), in.top() + 5),
                      QPointF(xOfBytes(end), in.bottom() - 4));
    const bool narrow = rect.width() < kNarrowCell;
    // Narrow neighbours become one cell of at least that width.
    // Some models have a thousand parameters in one bucket, most of them biases of a few bytes.
    if (narrow && !cells.empty() && cells.back().rect.width() < kNarrowCell) {
      cells.back().rect.setRight(rect.right());
      ++cells.back().count;
    } else {
      cells.push_back({rect, of.parameters[i], 1, i});
    }
  }
  for (Cell& cell : cells) {
    if (cell.rect.width() < kNarrowCell) {
      cell.rect.setWidth(kNarrowCell);
    }
  }
  return cells;
}

QRectF BucketsLayout::strip(int bucket, int rank) const {
  const QRectF in = row(bucket);
  const double pitch = (rowHeight_ - 9) / std::max(1, story_.rankCount());
  // Gaps between strips only where these are high enough to lose a pixel.
  const double gap = pitch >= 6 ? 2 : pitch >= 4 ? 1 : 0;
  return QRectF(times_.left(), in.top() + 5 + rank * pitch, times_.width(), pitch - gap);
}

QRectF BucketsLayout::band(int rank) const {
  return QRectF(0, order_.top() + rank * bandHeight_ - orderScroll_, size_.width(), bandHeight_);
}

std::optional<QPointF> BucketsLayout::dot(int rank, std::uint32_t parameter,
                                          OrderAgainst against) const {
  const analysis::ReadyGradient* gradient = story_.readyOn(rank, parameter);
  if (gradient == nullptr) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(story_.bucketOf.size());
  // Of the registration the last comes first, as gradients do.
  const double place =
      against == OrderAgainst::kBuckets ? story_.placeInBuckets[parameter] : count - 1 - parameter;
  const QRectF in = band(rank).adjusted(0, 6, 0, -6);
  return QPointF(axis_.toX(story_.ns(gradient->ticks)),
                 in.top() + (place + 0.5) / count * in.height());
}

double BucketsLayout::scrollTo(int bucket) const {
  const double top = bucket * rowHeight_;
  const double bottom = top + rowHeight_ + 6;
  // As near to where it is as can be.
  return std::clamp(rowScroll_, std::max(0.0, bottom - rows_.height()), top);
}

BucketsHit BucketsLayout::hit(QPointF at, OrderAgainst against) const {
  BucketsHit found;
  if (rows_.contains(at)) {
    found = hitRow(at);
  } else if (order_.contains(at)) {
    found = hitOrder(at, against);
  } else if (story_.measured() && at.y() < kHeader && at.x() >= times_.left() - 4) {
    found.kind = BucketsHit::Kind::kAxis;
    found.ns = axis_.toNs(at.x());
  }
  return found;
}

BucketsHit BucketsLayout::hitRow(QPointF at) const {
  BucketsHit found;
  const int bucket = static_cast<int>(std::floor((at.y() - row(0).top()) / rowHeight_));
  if (bucket < 0 || bucket >= bucketCount()) {
    return found;
  }
  found.kind = BucketsHit::Kind::kBucket;
  found.bucket = bucket;
  if (story_.measured() && at.x() >= times_.left() - rankGutter_) {
    const QRectF first = strip(bucket, 0);
    const double pitch = (rowHeight_ - 9) / std::max(1, story_.rankCount());
    const int rank = static_cast<int>(std::floor((at.y() - first.top()) / pitch));
    if (rank >= 0 && rank < story_.rankCount()) {
      found.kind = BucketsHit::Kind::kTimes;
      found.rank = rank;
      found.ns = axis_.toNs(at.x());
    }
    return found;
  }
  // The last that contains the point: cells were widened and may reach over their neighbours.
  for (const Cell& cell : cells(bucket)) {
    if (cell.rect.contains(at)) {
      found.kind = cell.count > 1 ? BucketsHit::Kind::kFold : BucketsHit::Kind::kParameter;
      found.parameter = static_cast<int>(cell.parameter);
      found.count = cell.count;
    }
  }
  return found;
}

BucketsHit BucketsLayout::hitOrder(QPointF at, OrderAgainst against) const {
  BucketsHit found;
  const int rank = static_cast<int>(std::floor((at.y() - band(0).top()) / bandHeight_));
  if (rank < 0 || rank >= story_.rankCount()) {
    return found;
  }
  found.kind = BucketsHit::Kind::kOrder;
  found.rank = rank;
  double nearest = kDotReach;
  for (const auto& gradient : story_.orders[static_cast<std::size_t>(rank)].gradients) {
    const auto point = dot(rank, gradient.parameter, against);
    // The nearest within reach: dots may lie on each other.
    const double distance =
        point ? std::hypot(point->x() - at.x(), point->y() - at.y()) : kDotReach;
    if (distance < nearest) {
      nearest = distance;
      found.kind = BucketsHit::Kind::kDot;
      found.parameter = static_cast<int>(gradient.parameter);
      found.bucket = gradient.bucket == trace::kNoBucket ? -1 : gradient.bucket;
    }
  }
  return found;
}

}  // namespace lockstep::ui
