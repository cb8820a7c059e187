#pragma once

#include <set>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/trace/ClockOffset.h"
#include "engine/trace/RunFile.h"

namespace lockstep::trace {

/// What other threads gave a recorder since it last looked.
struct RecorderMail {
  struct HostClockRow {
    int host = kRecordingHost;
    base::ClockCalibration calibration;
    ClockOffset offset;
  };

  bool infoChanged = true;
  std::set<int> ranksChanged;
  std::vector<HostInfo> hosts;
  std::vector<HostClockRow> clocks;
  std::vector<LogRow> logs;
  std::vector<ProblemRow> problems;
  std::vector<MetricRow> metrics;

  /// Writes what was handed in as whole rows. RunInfo and the ranks' facts the recorder writes
  /// itself.
  void writeRows(RunFileWriter& writer) const;
};

}  // namespace lockstep::trace
