#include "engine/process_group/nccl/DeviceWork.h"

namespace lockstep::process_group::nccl {
namespace {

// Keeps the sum of two time limits in range.
constexpr std::chrono::seconds kGrace{10};

}  // namespace

void DeviceWork::wait(std::chrono::milliseconds timeout) {
  const bool blocks = timeout != kNoTimeout || operation() == trace::Operation::kBarrier;
  if (blocks || !flight_->underWay.waitFor(flight_->limit + kGrace) || state_->isCompleted()) {
    state_->wait(timeout);
    return;
  }
  try {
    flight_->end->block(device_.currentStream());
  } catch (const DeviceError& error) {
    throw CommError(state_->where(), error.what());
  }
}

}  // namespace lockstep::process_group::nccl
