#include "engine/experiment/Experiment.h"

namespace lockstep::experiment {

bool HookConfig::isOwn() const {
  return (name == "allreduce" || name == "noop") && library.empty() && values.empty() &&
         inner.empty();
}

bool LinkConfig::shapes() const {
  return preset != "none" || bandwidthGbps > 0 || latencyUs > 0 || jitterUs > 0 ||
         insideBandwidthGbps > 0 || insideLatencyUs > 0 || !slowRanks.empty();
}

}  // namespace lockstep::experiment
