#include "engine/experiment/Experiment.h"

namespace lockstep::experiment {

bool DdpConfig::mixesPrecision() const {
  return paramDtype != "none" || reduceDtype != "none" || bufferDtype != "none";
}

bool HookConfig::isOwn() const {
  // Plugins have these two names as well. Whoever names a library, a parameter or a hook inside
  // wants the plugin.
  return (name == "allreduce" || name == "noop") && library.empty() && values.empty() &&
         inner.empty();
}

bool LinkConfig::shapes() const {
  return preset != "none" || bandwidthGbps > 0 || latencyUs > 0 || jitterUs > 0 ||
         insideBandwidthGbps > 0 || insideLatencyUs > 0 || !slowRanks.empty();
}

}  // namespace lockstep::experiment
