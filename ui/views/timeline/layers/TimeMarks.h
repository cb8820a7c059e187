#pragma once

#include <QString>
#include <vector>

#include "ui/views/timeline/TimelineSight.h"

namespace lockstep::ui {

/// By what a timeline is divided: labelled times, and as many iterations as have room for a number.
class TimeMarks {
 public:
  explicit TimeMarks(const TimelineSight& sight);

  [[nodiscard]] std::vector<TimeAxis::Tick> ticks() const { return axis_.ticks(distance_); }
  /// The time between two labels.
  [[nodiscard]] double stepNs() const { return axis_.labelStepNs(distance_); }
  [[nodiscard]] QString label(double ns, double stepNs) const;

  [[nodiscard]] const std::vector<StepSpan>& iterations() const { return iterations_; }
  /// Whether they are all that is in sight, each with room for a box of its own.
  [[nodiscard]] bool boxed() const { return boxed_; }

  static constexpr double kNumberDistance = 64;  ///< px between numbered iterations, at least

 private:
  void findIterations(const RunModel& model, int rank, const run::SpanStore& steps);

  const TimeAxis axis_;
  double distance_;  // px between labelled times
  std::vector<StepSpan> iterations_;
  bool boxed_ = true;
};

}  // namespace lockstep::ui
