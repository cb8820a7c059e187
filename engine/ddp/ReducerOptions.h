#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/buckets/Assign.h"
#include "engine/ddp/MixedPrecision.h"
#include "engine/ddp/ModelState.h"
#include "engine/device/DeviceSpans.h"
#include "engine/hooks/CommHook.h"
#include "engine/trace/Tracer.h"

namespace lockstep::ddp {

struct ReducerOptions {
  /// Of the first iteration, where neither `caps.list` nor findUnusedParameters says otherwise.
  buckets::BucketRule rule = buckets::BucketRule::kC10d113;
  buckets::BucketCaps caps;
  bool gradientAsBucketView = false;
  /// Copies the gradients of a bucket when the last of them has come, in one call, and divides the
  /// bucket then; and back likewise.
  bool batchedGradCopy = false;
  bool findUnusedParameters = false;
  bool staticGraph = false;
  /// With findUnusedParameters: a bucket without a gradient on any rank is not communicated.
  bool skipUnusedBuckets = false;
  std::vector<std::string> sparseGradients;  ///< parameters whose gradients are sparse
  /// Parameters of the model that are not to be reduced, and must therefore stay as they are.
  std::vector<NamedTensor> frozen;
  /// As many of the last parameters have no place in the buckets: one allreduce averages them,
  /// started by the gradient of parameter `deferredTrigger`, which may be one of them.
  std::size_t deferred = 0;
  std::size_t deferredTrigger = 0;
  /// Null: parameters and buckets keep their dtypes. Not together with gradientAsBucketView.
  std::shared_ptr<PrecisionSwitch> precision;
  std::shared_ptr<hooks::CommHook> hook;     ///< null: an AllreduceHook
  std::chrono::milliseconds hookTimeout{0};  ///< 0: the group's time limit and 5 s
  trace::Tracer* tracer = nullptr;           ///< may be null; else outlives the Reducer
  /// Of the device that the gradients lie on: copies, waits and the finalisation then have the
  /// times of the device, and copies of single gradients count as part of the backward. Null: all
  /// times are the host's.
  std::shared_ptr<device::DeviceSpans> deviceSpans;
  /// In every k-th step, counted from 0, this rank's gradients are measured as they go into their
  /// buckets, and sent to the recorder, if there is one, as a GradientsMessage. A step that reduces
  /// nothing leaves it to the next that does. 0: never.
  std::int64_t gradientCheckEvery = 0;

  /// Whether each forward's graph is searched: staticGraph learns it from the first backward.
  [[nodiscard]] bool searchesUnused() const { return findUnusedParameters && !staticGraph; }
};

}  // namespace lockstep::ddp
