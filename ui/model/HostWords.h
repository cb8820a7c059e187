#pragma once

#include <QString>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::ui {

/// How well the clocks of a run's hosts are known.
struct HostClockWords {
  QString shortly;  ///< "clock ± 31 µs", of the worst; empty for a run on one host
  QString each;     ///< a line a host
};
HostClockWords hostClockWords(const std::vector<trace::HostState>& hosts, trace::RunKind kind);

/// Returns "alpha, which recorded the run" or "beta, clock ± 31 µs". Nobody recorded an imported
/// job: there it is "alpha, whose clock is the reference".
QString hostTitle(const trace::HostState& host, trace::RunKind kind);

}  // namespace lockstep::ui
