#include "engine/process_group/JoinedWork.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <mutex>
#include <optional>

namespace lockstep::process_group {
namespace {

struct Joint {
  std::shared_ptr<WorkState> work;
  std::function<void()> finish;
  std::optional<c10::Stream> stream;  // of the outputs' device, current where they were asked for
  std::atomic<std::size_t> left{0};
  std::mutex mutex;
  std::exception_ptr error;
};

void endPart(Joint& joint, const std::exception_ptr& error) {
  if (error != nullptr) {
    // Only the first error counts: the others mostly follow from it.
    std::lock_guard lock(joint.mutex);
    if (joint.error == nullptr) {
      joint.error = error;
    }
  }
  // The last part goes on. It sees what the others wrote into `error`: the counter orders them.
  if (joint.left.fetch_sub(1) != 1) {
    return;
  }
  if (joint.error == nullptr && joint.finish) {
    try {
      const at::NoGradGuard noGrad;
      c10::OptionalStreamGuard onStream;
      if (joint.stream) {
        // `finish` copies on the device, and the caller's later work on this stream must come after
        // it.
        onStream.reset_stream(*joint.stream);
      }
      joint.finish();
    } catch (...) {
      joint.error = std::current_exception();
    }
  }
  if (joint.error != nullptr) {
    joint.work->fail(joint.error);
  } else {
    joint.work->succeed();
  }
}

}  // namespace

ProcessGroup::WorkPtr joinWorks(std::vector<ProcessGroup::WorkPtr> parts, CommError::Where where,
                                std::vector<at::Tensor> outputs, std::chrono::milliseconds limit,
                                std::function<void()> finish) {
  auto joint = std::make_shared<Joint>();
  joint->finish = std::move(finish);
  joint->left = parts.size();
  // Taken now: the parts end on threads that have streams of their own.
  if (!outputs.empty() && !outputs.front().is_cpu()) {
    const c10::Device device = outputs.front().device();
    joint->stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  }
  WorkState::Backend backend;
  backend.abort = [parts] {
    for (const auto& part : parts) {
      part->abort();
    }
  };
  joint->work = std::make_shared<WorkState>(std::move(where), std::move(outputs), limit,
                                            std::move(backend));
  // Callbacks below may run at once, and end the joint, on this very thread.
  std::shared_ptr<WorkState> work = joint->work;
  for (const auto& part : parts) {
    part->future().whenComplete(
        [joint](const base::Future<std::vector<at::Tensor>>& done) {
          endPart(*joint, done.exception());
        });
  }
  return work;
}

}  // namespace lockstep::process_group
