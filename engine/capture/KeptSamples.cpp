#include "engine/capture/KeptSamples.h"

#include <algorithm>
#include <cmath>

namespace lockstep::capture {

bool KeptSamples::keeps(const HeldStep& step, bool unlike) {
  if (step.fingerprints.empty() && step.gradients.empty()) {
    return false;
  }
  const bool isDue = steps_++ % kEvery == 0;
  const bool comesAfterTheLast = step.events.empty();
  return isDue || unlike || comesAfterTheLast || tells(step);
}

bool KeptSamples::tells(const HeldStep& step) const {
  const bool parameters =
      std::any_of(step.fingerprints.begin(), step.fingerprints.end(), [&](const auto& sample) {
        const trace::FingerprintMessage& of = sample.second;
        return (!mayDiffer_ && of.hashes != step.fingerprints.front().second.hashes) ||
               !std::all_of(of.norms.begin(), of.norms.end(),
                            [](double norm) { return std::isfinite(norm); });
      });
  return parameters ||
         std::any_of(step.gradients.begin(), step.gradients.end(), [](const auto& sample) {
           const auto& buckets = sample.second.buckets;
           return std::any_of(buckets.begin(), buckets.end(), [](const auto& bucket) {
             return bucket.nans > 0 || bucket.infinities > 0;
           });
         });
}

}  // namespace lockstep::capture
