#include "engine/process_group/DeviceGroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "engine/process_group/Request.h"

namespace lockstep::process_group {
namespace {

using base::Error;
using base::ExitCode;

std::string deviceName(c10::DeviceType device) { return c10::DeviceTypeName(device, true); }

std::optional<c10::DeviceType> deviceFrom(const std::string& text) {
  for (const c10::DeviceType device :
       {c10::DeviceType::CPU, c10::DeviceType::CUDA, c10::DeviceType::HIP, c10::DeviceType::XPU,
        c10::DeviceType::MPS, c10::DeviceType::Meta}) {
    if (deviceName(device) == text) {
      return device;
    }
  }
  return std::nullopt;
}

std::string nameOf(const DeviceGroup::Map& map) {
  std::string text;
  for (const auto& [device, group] : map) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", deviceName(device),
                        group->backendName());
  }
  return text;
}

CompoundGroup::Groups groupsOf(const DeviceGroup::Map& map) {
  CompoundGroup::Groups groups;
  for (const auto& [device, group] : map) {
    groups.push_back(group);
  }
  return groups;
}

}  // namespace

base::Result<std::vector<DeviceBackend>> parseDeviceMap(const std::string& text) {
  const auto refuse = [&](const std::string& what) {
    return Error{ExitCode::kBadInput, fmt::format("backend \"{}\": {}", text, what), ""};
  };
  if (text.empty()) {
    return refuse("the name is empty");
  }
  if (text.find_first_of(":,") == std::string::npos) {
    return std::vector<DeviceBackend>{{c10::DeviceType::CPU, text}};
  }
  // A trailing comma leaves an empty part, which is refused as any other.
  std::vector<DeviceBackend> map;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t colon = part.find(':');
    if (colon == std::string::npos || colon + 1 == part.size()) {
      return refuse(fmt::format("\"{}\" is no pair of a device and a backend, as in "
                                "\"cpu:gloo,cuda:nccl\"",
                                part));
    }
    const auto device = deviceFrom(part.substr(0, colon));
    if (!device) {
      return refuse(fmt::format("there is no device type \"{}\"; there are cpu, cuda, hip, xpu, "
                                "mps, meta",
                                part.substr(0, colon)));
    }
    for (const DeviceBackend& other : map) {
      if (other.device == *device) {
        return refuse(fmt::format("device {} stands in it twice", deviceName(*device)));
      }
    }
    map.push_back({*device, part.substr(colon + 1)});
  }
  return map;
}

DeviceGroup::DeviceGroup(std::string groupName, const Map& map)
    : CompoundGroup("DeviceGroup", std::move(groupName), nameOf(map), groupsOf(map)) {
  for (const auto& [device, group] : map) {
    devices_.push_back(device);
  }
}

ProcessGroup& DeviceGroup::groupFor(const Request& request, std::uint64_t /*turn*/) const {
  const c10::DeviceType device = request.described().front().device().type();
  // Both lists: an allgather describes its input and fills its outputs.
  for (const auto* list : {&request.described(), &request.outputs}) {
    for (const at::Tensor& tensor : *list) {
      if (tensor.device().type() != device) {
        throw std::invalid_argument(fmt::format("{}::{}: tensors on {} and on {} in one call",
                                                backendName(), trace::name(request.call.operation),
                                                deviceName(device),
                                                deviceName(tensor.device().type())));
      }
    }
  }
  const auto found = std::find(devices_.begin(), devices_.end(), device);
  if (found != devices_.end()) {
    return *groups()[static_cast<std::size_t>(found - devices_.begin())];
  }
  throw std::invalid_argument(fmt::format("{}::{}: there is no backend for tensors on {}",
                                          backendName(), trace::name(request.call.operation),
                                          deviceName(device)));
}

}  // namespace lockstep::process_group
