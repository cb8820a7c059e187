#include "engine/cost/Cores.h"

#include <algorithm>

namespace lockstep::cost {

double heldUpNs(const Cores& cores, double stepNs, double workNs, double hookNs) {
  if (!(cores.count > 0) || !(stepNs > 0)) {
    return 0;
  }
  const double hook = std::clamp(hookNs, 0.0, stepNs);
  const double besides = std::max(workNs, 0.0) / stepNs;  // cores that are wanted for that
  const auto takes = [&](double ns, double wanted) {
    return std::max(ns, ns * wanted / cores.count);
  };
  return takes(hook, besides + cores.ranks) + takes(stepNs - hook, besides) - stepNs;
}

}  // namespace lockstep::cost
