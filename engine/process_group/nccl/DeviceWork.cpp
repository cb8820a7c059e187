#include "engine/process_group/nccl/DeviceWork.h"

namespace lockstep::process_group::nccl {
namespace {

// How much longer than its limit an operation may take to reach the device: its limit fails it
// before.
constexpr std::chrono::seconds kGrace{10};

}  // namespace

void DeviceWork::wait(std::chrono::milliseconds timeout) {
  // A barrier is for the host: ordering a stream after it would let the caller go on.
  const bool blocks = timeout != kNoTimeout || operation() == trace::Operation::kBarrier;
  // Not with the device in time, or failed already: its error is thrown here.
  if (blocks || !flight_->underWay.waitFor(flight_->limit + kGrace) || state_->isCompleted()) {
    state_->wait(timeout);
    return;
  }
  try {
    // The caller's stream waits on the device.
    flight_->end->block(device_.currentStream());
  } catch (const DeviceError& error) {
    throw CommError(state_->where(), error.what());
  }
}

}  // namespace lockstep::process_group::nccl
