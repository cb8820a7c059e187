#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::capture {

/// What ranks told of one step, until it is decided how much of it is kept.
struct HeldStep {
  struct HeldEvent {
    int rank = 0;
    std::int32_t track = 0;
    trace::Event event;
  };
  std::vector<HeldEvent> events;          ///< in the order in which they came
  std::vector<trace::MetricRow> metrics;  ///< likewise
  std::vector<std::pair<int, trace::FingerprintMessage>> fingerprints;  ///< with their ranks
  std::vector<std::pair<int, trace::GradientsMessage>> gradients;       ///< likewise
};

/// Holds back steps until all ranks have ended them and the next: what their other threads and
/// devices tell of a step comes a little after it. A rank that has been silent for two seconds, and
/// for three of the longest steps of late, is waited for no more; nor is anyone once a million
/// events are held.
class HeldSteps {
 public:
  /// `nowNs`: of CLOCK_MONOTONIC, here and below.
  void add(int rank, std::int32_t track, const trace::Event& event, std::int64_t nowNs);
  void add(const trace::MetricRow& metric);
  void add(int rank, const trace::FingerprintMessage& fingerprint);
  void add(int rank, const trace::GradientsMessage& gradients);

  /// The first step that is held, where it is complete.
  [[nodiscard]] std::optional<std::uint32_t> ready(std::int64_t nowNs) const;
  /// The first step that is held.
  [[nodiscard]] std::optional<std::uint32_t> first() const;
  /// Takes the first step out, and with it all chance to hold it again. `longestNs`: how long it
  /// took the slowest rank; 0: not known.
  HeldStep take(std::int64_t longestNs);
  /// Whether a step was taken out, or one after it.
  [[nodiscard]] bool isOver(std::uint32_t step) const { return step < next_; }
  /// The highest step that any rank told of.
  [[nodiscard]] std::uint32_t highest() const { return highest_; }
  void noteHighest(std::uint32_t step);

 private:
  struct OfRank {
    std::uint32_t next = 0;  // the step after the last that it ended
    std::int64_t heardNs = 0;
  };

  std::map<std::uint32_t, HeldStep> steps_;
  std::map<int, OfRank> ranks_;
  std::uint32_t next_ = 0;
  std::uint32_t highest_ = 0;
  std::size_t events_ = 0;
  double longestNs_ = 0;  // fades
};

}  // namespace lockstep::capture
