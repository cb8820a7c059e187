#include "engine/trace/RecorderMail.h"

namespace lockstep::trace {

void RecorderMail::writeRows(RunFileWriter& writer) const {
  for (const HostInfo& host : hosts) {
    writer.addHost(host);
  }
  for (const HostClockRow& row : clocks) {
    writer.addClock(row.host, row.calibration, row.offset);
  }
  for (const LogRow& row : logs) {
    writer.addLog(row);
  }
  for (const ProblemRow& row : problems) {
    writer.addProblem(row);
  }
  for (const MetricRow& row : metrics) {
    writer.addMetric(row);
  }
}

}  // namespace lockstep::trace
