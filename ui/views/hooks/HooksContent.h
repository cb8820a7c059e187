#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/analysis/HookBuckets.h"
#include "ui/canvas/Palette.h"
#include "ui/views/hooks/HookRun.h"

namespace lockstep::ui {

/// A bar: a bucket (trace::kNoBucket: what is around the step), and one phase of it or, without,
/// all.
struct HookPick {
  std::uint16_t bucket = trace::kNoBucket;
  std::optional<analysis::HookPhase> phase;

  bool operator==(const HookPick&) const = default;
};

/// One run's part of what is drawn.
struct HookSide {
  std::shared_ptr<const HookRun> run;
  std::vector<analysis::HookBucket> buckets;
  analysis::HookStep step;

  [[nodiscard]] const analysis::HookBucket* find(std::uint16_t bucket) const;
  /// The durations of a bar; null when this run has none.
  [[nodiscard]] const analysis::Durations* durations(const HookPick& pick) const;
};

/// What the hooks view shows: one run, or two over each other. Never changed once made.
struct HooksContent {
  std::vector<HookSide> sides;  ///< one or two
  std::optional<int> rank;      ///< none: all ranks together

  [[nodiscard]] bool compares() const { return sides.size() > 1; }
  /// The buckets that any side has, by number, what is around the step last.
  [[nodiscard]] std::vector<std::uint16_t> buckets() const;
  /// The bucket that takes most time, all its phases; none of nothing.
  [[nodiscard]] std::optional<HookPick> heaviest() const;
};

/// Sorts and measures the calls of the runs. [any-thread]
std::shared_ptr<const HooksContent> makeHooksContent(
    const std::vector<std::shared_ptr<const HookRun>>& runs, std::optional<int> rank);

/// "bucket 3", "around the step".
QString bucketTitle(std::uint16_t bucket);
/// "encode", "waiting"; "all phases" without one.
QString phaseTitle(std::optional<analysis::HookPhase> phase);
/// What happens in a phase, a sentence.
QString phaseMeaning(analysis::HookPhase phase);
/// The colour of a phase, the same as on the timeline.
QColor phaseColour(const Palette& palette, analysis::HookPhase phase);

/// Bytes of gradients and of collectives, as far as they are known: "50 : 1, 247 KiB → 4.94 KiB".
QString payloadText(std::optional<std::uint64_t> before, double after);
/// "50 : 1", "0.87 : 1".
QString ratioText(double ratio);

}  // namespace lockstep::ui
