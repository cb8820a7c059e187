#include "engine/data_parallel/Device.h"

#include <fmt/format.h>

namespace lockstep::data_parallel {

namespace {

// torch.nn.DataParallel's.
constexpr double kEvenShare = 0.75;

template <typename Property>
std::optional<std::string> imbalanceOf(const std::vector<Device>& devices, const char* what,
                                       Property property) {
  const Device* least = nullptr;
  const Device* most = nullptr;
  for (const Device& device : devices) {
    if (property(device) == 0) {
      continue;
    }
    if (least == nullptr || property(device) < property(*least)) {
      least = &device;
    }
    if (most == nullptr || property(device) > property(*most)) {
      most = &device;
    }
  }
  if (least == nullptr ||
      static_cast<double>(property(*least)) >= kEvenShare * static_cast<double>(property(*most))) {
    return std::nullopt;
  }
  return fmt::format(
      "device {} has less than 75 % of the {} of device {} ({} against {}): each step waits for "
      "it; leave it out of the devices",
      least->name(), what, most->name(), property(*least), property(*most));
}

}  // namespace

std::string Device::name() const {
  return place.is_cpu() ? fmt::format("cpu {}", number) : place.str();
}

std::vector<Device> virtualDevices(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) {
    devices.push_back({c10::Device(c10::kCPU), i, 0, 0});
  }
  return devices;
}

std::optional<std::string> imbalance(const std::vector<Device>& devices) {
  if (auto memory = imbalanceOf(devices, "memory bytes",
                                [](const Device& device) { return device.memoryBytes; })) {
    return memory;
  }
  return imbalanceOf(devices, "cores", [](const Device& device) { return device.cores; });
}

}  // namespace lockstep::data_parallel
