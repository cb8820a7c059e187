#pragma once

#include <chrono>
#include <cstdint>

namespace lockstep::ddp {

/// The five moments of an iteration that c10d's Logger knows, of each synchronised iteration and
/// not of a sample. Nanoseconds of the steady clock. Guarded by its owner. They are the host's:
/// with parameters on a GPU, which c10d times by events on it, they say when the work was queued.
/// When it was done stands in the spans of the run.
///
/// What PyTorch calls overlap is the time from the first launch to the end of the backward's
/// computing: a window, in which communication may have idled. What ran stands in the events.
class DdpTimes {
 public:
  struct Durations {
    std::int64_t forward = 0;        ///< start of the forward .. its end
    std::int64_t backward = 0;       ///< end of the forward .. end of the backward; the loss, too
    std::int64_t communication = 0;  ///< first launch .. last gradient written
    std::int64_t overlap = 0;        ///< first launch .. end of the backward

    Durations& operator+=(const Durations& other) {
      forward += other.forward;
      backward += other.backward;
      communication += other.communication;
      overlap += other.overlap;
      return *this;
    }
  };

  std::int64_t forwardStart = 0;
  std::int64_t backwardStart = 0;
  std::int64_t communicationStart = 0;
  std::int64_t backwardEnd = 0;
  std::int64_t communicationEnd = 0;

  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  [[nodiscard]] Durations last() const {
    return {backwardStart - forwardStart, backwardEnd - backwardStart,
            communicationEnd - communicationStart, backwardEnd - communicationStart};
  }

  /// Ends an iteration: all five are set.
  void count() {
    sum_ += last();
    ++iterations_;
  }
  [[nodiscard]] std::int64_t iterations() const { return iterations_; }
  [[nodiscard]] Durations average() const {
    const std::int64_t n = iterations_ == 0 ? 1 : iterations_;
    return {sum_.forward / n, sum_.backward / n, sum_.communication / n, sum_.overlap / n};
  }

 private:
  Durations sum_;
  std::int64_t iterations_ = 0;
};

}  // namespace lockstep::ddp
