#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::exports {

// Note [Nesting]
// Viewers draw the slices of one thread inside each other, and move or cut those that overlap only
// in part. Slices of one lane of a run mostly nest, but need not: two collectives may be in flight
// on one thread. So a lane is given as many rows as it takes for the slices of each to nest: of any
// two of one row, either one holds the other or they have at most an end in common.
//
// Spans come in the order in which they ended, as they are recorded: what a slice holds comes
// before it. A row remembers its slices that no other holds; a new one may hold the last of them,
// and must not begin inside one. One that comes late, after others that ended later, is not fitted
// in between: it goes to another row.

/// The rows of one lane. Times are in any unit, ends not included.
class NestingRows {
 public:
  /// Takes a slice that ends after it begins, and returns its row, from 0 on. `block` counts up
  /// whenever what was taken has been written: a slice must be written before those that begin
  /// with it and that it holds.
  std::size_t take(std::int64_t begin, std::int64_t end, std::uint64_t block);

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }

 private:
  struct Outer {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t block = 0;
  };
  struct Row {
    std::vector<Outer> outers;              // disjoint, by time
    std::int64_t forgottenEnd = INT64_MIN;  // of those no longer in `outers`
  };
  static bool fits(Row& row, const Outer& slice);

  std::vector<Row> rows_;
};

}  // namespace lockstep::exports
