#pragma once

#include <QString>
#include <optional>

namespace lockstep::ui {

class RunSession;
struct RunFigures;

/// What an ended run comes to, in one line.
struct RunReport {
  std::optional<double> overlapPercent;
  std::optional<double> exposedMs;
  std::optional<double> accuracy;  ///< 0..1
  std::optional<double> loss;

  /// "Finished: overlap 61 %, 3.80 ms exposed per step (median, worst rank), accuracy 97.6 %, loss
  /// 0.081".
  [[nodiscard]] QString sentence(const QString& opening) const;
};

/// Without `figures`, only what the run itself reported.
RunReport reportOf(RunSession& session, const RunFigures* figures = nullptr);

}  // namespace lockstep::ui
