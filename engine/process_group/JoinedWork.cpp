#include "engine/process_group/JoinedWork.h"

#include <atomic>
#include <mutex>

namespace lockstep::process_group {
namespace {

struct Joint {
  std::shared_ptr<WorkState> work;
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
  if (joint.error != nullptr) {
    joint.work->fail(joint.error);
  } else {
    joint.work->succeed();
  }
}

}  // namespace

ProcessGroup::WorkPtr joinWorks(std::vector<ProcessGroup::WorkPtr> parts, CommError::Where where,
                                std::chrono::milliseconds limit) {
  auto joint = std::make_shared<Joint>();
  joint->left = parts.size();
  WorkState::Backend backend;
  backend.abort = [parts] {
    for (const auto& part : parts) {
      part->abort();
    }
  };
  joint->work = std::make_shared<WorkState>(std::move(where), std::vector<at::Tensor>(), limit,
                                            std::move(backend));
  // Callbacks below may run at once, and end the joint, on this very thread.
  std::shared_ptr<WorkState> work = joint->work;
  for (const auto& part : parts) {
    part->future().whenComplete([joint](const base::Future<std::vector<at::Tensor>>& done) {
      endPart(*joint, done.exception());
    });
  }
  return work;
}

}  // namespace lockstep::process_group
