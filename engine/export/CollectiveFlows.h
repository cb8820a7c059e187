#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "engine/run/Calls.h"
#include "engine/trace/RunFile.h"

namespace lockstep::exports {

/// Where one rank's slice of a collective begins in a trace.
struct FlowPoint {
  int rank = 0;
  std::int64_t ns = 0;
  std::size_t place = 0;  ///< whatever tells the writer its row
};

/// Finds the slices of one collective on several ranks, by group and sequence number, as they come:
/// about in the order of time. What lies far behind is given out and forgotten.
class CollectiveFlows {
 public:
  /// Gets the ranks' slices of a collective, at least two, by time.
  using Take = std::function<void(const std::vector<FlowPoint>&)>;
  explicit CollectiveFlows(Take take) : take_(std::move(take)) {}

  /// Sends and receives are not taken: their numbers are not those of the other side.
  void add(const trace::SpanRow& collective, const FlowPoint& point);

  /// Gives out the rest.
  void finish();

 private:
  using Open = std::map<std::uint64_t, std::vector<FlowPoint>>;  // by number
  void giveOut(std::vector<FlowPoint> points);

  Take take_;
  run::CallNumbers numbers_;
  std::map<std::uint8_t, Open> groups_;
};

}  // namespace lockstep::exports
