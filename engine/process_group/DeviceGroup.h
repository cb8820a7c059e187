#pragma once

#include <c10/core/DeviceType.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/Result.h"
#include "engine/process_group/ForwardingGroup.h"

namespace lockstep::process_group {

/// One entry of a device map: tensors of this device type go to this backend.
struct DeviceBackend {
  c10::DeviceType device;
  std::string backend;
};

/// Reads "cpu:gloo,cuda:nccl", or a plain name "gloo" as a map of every device (one entry, kCPU).
/// The error names the part that is wrong: no such device type, a device twice, an empty name.
/// Whether the backends exist is not asked.
[[nodiscard]] base::Result<std::vector<DeviceBackend>> parseDeviceMap(const std::string& text);

/// Sends each call to the backend of its tensors' device, as c10d's "cpu:gloo,cuda:nccl". All
/// tensors of a call must be on one device type (std::invalid_argument). A barrier covers all
/// backends, and allocate() is the first one's. [any-thread]
class DeviceGroup final : public ForwardingGroup {
 public:
  using Groups = std::vector<std::pair<c10::DeviceType, std::shared_ptr<ProcessGroup>>>;

  /// Throws std::invalid_argument for an empty list and when rank or size are not the same.
  DeviceGroup(std::string groupName, Groups groups);

  at::Tensor allocate(std::int64_t bytes) override;
  /// Collectives that were queued on any backend; a barrier counts once.
  [[nodiscard]] std::uint64_t sequenceNumber() const override;
  [[nodiscard]] std::chrono::milliseconds timeout() const override;
  void setTimeout(std::chrono::milliseconds timeout) override;
  void abort(const std::string& reason) override;
  [[nodiscard]] GroupState state() const override;

 protected:
  WorkPtr forward(ForwardedCall call) override;

 private:
  [[nodiscard]] ProcessGroup& groupOf(const ForwardedCall& call) const;

  Groups groups_;
  mutable std::mutex mutex_;
  std::uint64_t sequence_ = 0;
};

}  // namespace lockstep::process_group
