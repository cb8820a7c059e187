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
HostClockWords hostClockWords(const std::vector<trace::HostState>& hosts);

/// Returns "alpha, which recorded the run" or "beta, clock ± 31 µs".
QString hostTitle(const trace::HostState& host);

}  // namespace lockstep::ui
