#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// The spans of a run, or of a stretch of it, numbered: lane by lane and row by row, in order of
/// time within each. A number stays that of its span while the run grows, unless a span comes late:
/// then those after it in its row move by one. [ui-thread]
class SpanSlices {
 public:
  SpanSlices() = default;
  /// Those that touch `within`; without it all that the model holds now.
  SpanSlices(const RunModel& model, const std::optional<TimeRange>& within);

  /// Spans that do not touch `within`, but may lie within one that does, or around its start: as
  /// far on both sides as those that touch it reach.
  static SpanSlices around(const RunModel& model, TimeRange within);

  [[nodiscard]] std::uint32_t count() const { return count_; }
  /// Whether every number still is that of the span it was given to: no span came late.
  [[nodiscard]] bool stand(const RunModel& model) const;
  /// Nothing when the model no longer holds it.
  [[nodiscard]] std::optional<Span> spanAt(const RunModel& model, std::uint32_t number) const;
  /// Nothing when it is not among them.
  [[nodiscard]] std::optional<std::uint32_t> numberOf(const RunModel& model,
                                                      const Span& span) const;

  /// Appends the spans from number `next` on, at most `most`; returns the number after the last.
  std::uint32_t copy(const RunModel& model, std::uint32_t next, std::size_t most,
                     std::vector<Span>& to) const;

 private:
  struct Slice {
    int lane = 0;
    int row = 0;
    std::size_t from = 0;  // index within its row
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::int64_t lastId = -1;  // of its last span, which any that comes late moves
  };
  void add(const RunModel& model, int lane, std::size_t row, std::size_t from, std::size_t end);
  [[nodiscard]] const Slice& sliceOf(std::uint32_t number) const;

  std::vector<Slice> slices_;  // none empty; by number, those of a row in order of time
  std::uint32_t count_ = 0;
};

/// The latest part of `within` (of the whole run without it) that at most `most` spans touch;
/// nothing when all of them are no more than that. [ui-thread]
std::optional<TimeRange> latestPart(const RunModel& model, const std::optional<TimeRange>& within,
                                    std::uint32_t most);

}  // namespace lockstep::ui
