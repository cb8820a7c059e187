#pragma once

#include <vector>

#include "engine/cost/StepChange.h"
#include "engine/cost/TransferFit.h"

namespace lockstep::cost {

/// What a hook took for buckets before they travelled and after, a sample of each for every call.
struct HookCalls {
  std::vector<TransferSample> encode, decode;
};

/// Sets what a hook's work takes by the bytes of a bucket, and how far half of the calls are off
/// that. False: there are none. [any-thread]
bool fitWork(const HookCalls& calls, HookWork& work);

}  // namespace lockstep::cost
