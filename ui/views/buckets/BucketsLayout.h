#pragma once

#include <QPointF>
#include <QRectF>
#include <QSizeF>
#include <cstdint>
#include <optional>
#include <vector>

#include "ui/chart/TimeAxis.h"
#include "ui/views/buckets/BucketStory.h"

namespace lockstep::ui {

/// Sizes of the buckets stage in logical pixels.
namespace buckets_metrics {
inline constexpr double kHeader = 44;       ///< titles above, times below
inline constexpr double kLabelWidth = 152;  ///< names of buckets and ranks at the left
inline constexpr double kRankGutter = 26;   ///< "r0" before the times
inline constexpr double kWideRankGutter = 42;  ///< "r1023"
inline constexpr double kOrderHeader = 26;
inline constexpr double kMargin = 10;
}  // namespace buckets_metrics

/// The order that the ready order is held against.
enum class OrderAgainst : std::uint8_t { kBuckets, kRegistration };

/// What lies under a point.
struct BucketsHit {
  enum class Kind : std::uint8_t {
    kNothing,
    kBucket,     ///< its label, or its row beside the cells
    kParameter,  ///< a cell
    kFold,       ///< several cells too narrow to tell apart
    kTimes,      ///< one rank's times of a bucket
    kDot,        ///< one rank's gradient
    kOrder,      ///< a rank's band of the ready order
    kAxis,       ///< the ruler: a press moves the replay
  };
  Kind kind = Kind::kNothing;
  int bucket = -1;
  int parameter = -1;
  int rank = -1;  ///< by its place in BucketStory::orders
  int count = 1;  ///< of parameters in a fold
  double ns = 0;  ///< of kTimes and kAxis

  bool operator==(const BucketsHit&) const = default;
};

/// Where the parts of the stage lie for one size, scroll and stretch of time: buckets as rows,
/// their parameters at the left, their times at the right, and the ready order below.
class BucketsLayout {
 public:
  /// A parameter of a bucket, or several that are too narrow to tell apart.
  struct Cell {
    QRectF rect;
    std::uint32_t parameter = 0;  ///< of a fold: the first
    int count = 1;
    std::size_t place = 0;  ///< of the first in its bucket
  };

  BucketsLayout(const BucketStory& story, QSizeF size, TimeRange shown, double rowScroll,
                double orderScroll);

  [[nodiscard]] const TimeAxis& axis() const { return axis_; }
  [[nodiscard]] QSizeF size() const { return size_; }
  [[nodiscard]] QRectF rowsArea() const { return rows_; }
  [[nodiscard]] QRectF mapColumn() const { return map_; }      ///< cells of all rows
  [[nodiscard]] QRectF timesColumn() const { return times_; }  ///< times of all rows
  [[nodiscard]] double rankGutter() const { return rankGutter_; }  ///< before them, for the ranks
  [[nodiscard]] bool hasOrder() const { return order_.height() > 0; }
  [[nodiscard]] QRectF orderArea() const { return order_; }  ///< bands below its header
  [[nodiscard]] QRectF orderHeader() const;
  [[nodiscard]] double maximumRowScroll() const;
  [[nodiscard]] double maximumOrderScroll() const;
  [[nodiscard]] double rowHeight() const { return rowHeight_; }

  [[nodiscard]] QRectF row(int bucket) const;
  [[nodiscard]] std::vector<Cell> cells(int bucket) const;
  /// The x of a number of bytes in a row of the map.
  [[nodiscard]] double xOfBytes(double bytes) const;
  /// The x of a bucket's cap; nothing without one, or where it is far beyond all buckets.
  [[nodiscard]] std::optional<double> xOfCap(int bucket) const;
  /// The bar of a rank (by place) in a bucket's row.
  [[nodiscard]] QRectF strip(int bucket, int rank) const;
  [[nodiscard]] QRectF band(int rank) const;
  /// Where a parameter's dot is in the band of a rank; nothing when it was never ready there.
  [[nodiscard]] std::optional<QPointF> dot(int rank, std::uint32_t parameter,
                                           OrderAgainst against) const;
  [[nodiscard]] BucketsHit hit(QPointF at, OrderAgainst against) const;
  /// The row scroll at which a bucket is in sight, as near to the present one as can be.
  [[nodiscard]] double scrollTo(int bucket) const;

 private:
  [[nodiscard]] int bucketCount() const { return static_cast<int>(story_.layout.buckets.size()); }
  [[nodiscard]] BucketsHit hitRow(QPointF at) const;
  [[nodiscard]] BucketsHit hitOrder(QPointF at, OrderAgainst against) const;

  const BucketStory& story_;
  QSizeF size_;
  QRectF rows_;
  QRectF map_;
  QRectF times_;
  double rankGutter_ = 0;
  QRectF order_;
  TimeAxis axis_;
  double rowHeight_ = 0;
  double bandHeight_ = 0;
  double rowScroll_ = 0;
  double orderScroll_ = 0;
  double bytesAcross_ = 1;
};

}  // namespace lockstep::ui
