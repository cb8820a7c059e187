#pragma once

#include <map>
#include <string>

#include "engine/trace/RunFile.h"

namespace lockstep::report {

/// Gathers what c10d's Logger knows of each rank's DistributedDataParallel from a run file
/// (trace/FORMAT.md), under its names: facts, the numbers of the last iteration, and their averages
/// over all iterations. The numbers that a hook counts stand with them ("hook.kept").
class DdpLogging {
 public:
  void take(const trace::MetricRow& metric);

  /// Returns the fields of a rank; none without a DistributedDataParallel.
  [[nodiscard]] std::map<std::string, std::string> fields(const trace::RankInfo& rank) const;

  /// Returns what is left of a rank's environment without those fields.
  static std::map<std::string, std::string> environmentOf(const trace::RankInfo& rank);

 private:
  struct Series {
    double last = 0;
    double sum = 0;
    std::int64_t count = 0;
  };
  std::map<int, std::map<std::string, Series>> ranks_;
};

}  // namespace lockstep::report
