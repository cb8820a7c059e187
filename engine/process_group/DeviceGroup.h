#pragma once

#include <c10/core/DeviceType.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/Result.h"
#include "engine/process_group/CompoundGroup.h"

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
/// tensors of a call must be on one device type (std::invalid_argument). [any-thread]
class DeviceGroup final : public CompoundGroup {
 public:
  using Map = std::vector<std::pair<c10::DeviceType, std::shared_ptr<ProcessGroup>>>;

  /// Throws std::invalid_argument as CompoundGroup, whose groups are the map's in their order.
  DeviceGroup(std::string groupName, const Map& map);

 protected:
  [[nodiscard]] ProcessGroup& groupFor(const Request& request, std::uint64_t turn) const override;

 private:
  std::vector<c10::DeviceType> devices_;  // of each group
};

}  // namespace lockstep::process_group
