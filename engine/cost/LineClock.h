#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>

namespace lockstep::cost {

/// When a line is done with each transfer, in the order of the calls.
/// Two things limit a line of `inFlight` = 2. Bytes go one after the other: free_ is when the last
/// byte of those before has left. And a third transfer starts only when the first has arrived, its
/// latency included. With 4 ms of bytes and 3 ms of latency each, all met at 0:
///
///       1   bytes  0..4    arrives at  7
///       2   bytes  4..8    arrives at 11
///       3   bytes  8..12   may start at 7, but the bytes before it leave at 8
class LineClock {
 public:
  /// `inFlight`: how many travel at once, latency included; 0: no limit.
  explicit LineClock(std::size_t inFlight) : inFlight_(inFlight) {}

  /// Returns when the line is done with a transfer to which all ranks had come at `metNs`.
  /// `movedNs`: its bytes are not all there before that, whatever the line says.
  double carry(double metNs, double bytesNs, double latencyNs,
               double movedNs = -std::numeric_limits<double>::infinity()) {
    double start = metNs;
    if (inFlight_ > 0 && ends_.size() == inFlight_) {
      start = std::max(start, ends_.front());
      ends_.pop_front();
    }
    free_ = std::max(start, free_) + bytesNs;
    const double due = std::max(free_, movedNs) + latencyNs;
    if (inFlight_ > 0) {
      ends_.push_back(due);
    }
    return due;
  }

 private:
  std::size_t inFlight_;
  std::deque<double> ends_;  // of the last transfers, at most inFlight of them
  double free_ = -std::numeric_limits<double>::infinity();
};

}  // namespace lockstep::cost
