#include "engine/process_group/DeviceGroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "engine/process_group/JoinedWork.h"

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

std::string nameOf(const DeviceGroup::Groups& groups) {
  std::string text;
  for (const auto& [device, group] : groups) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", deviceName(device),
                        group->backendName());
  }
  return text;
}

const ProcessGroup& firstOf(const DeviceGroup::Groups& groups) {
  if (groups.empty()) {
    throw std::invalid_argument("DeviceGroup: there are no backends");
  }
  return *groups.front().second;
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

DeviceGroup::DeviceGroup(std::string groupName, Groups groups)
    : ForwardingGroup(firstOf(groups).rank(), firstOf(groups).size(), std::move(groupName),
                      nameOf(groups)),
      groups_(std::move(groups)) {
  for (const auto& [device, group] : groups_) {
    if (group->rank() != rank() || group->size() != size()) {
      throw std::invalid_argument(fmt::format(
          "DeviceGroup: the group of {} is rank {} of {} and that of {} is rank {} of {}",
          deviceName(device), group->rank(), group->size(), deviceName(groups_[0].first), rank(),
          size()));
    }
  }
}

at::Tensor DeviceGroup::allocate(std::int64_t bytes) { return groups_[0].second->allocate(bytes); }

std::uint64_t DeviceGroup::sequenceNumber() const {
  std::lock_guard lock(mutex_);
  return sequence_;
}

std::chrono::milliseconds DeviceGroup::timeout() const { return groups_[0].second->timeout(); }

void DeviceGroup::setTimeout(std::chrono::milliseconds timeout) {
  for (const auto& [device, group] : groups_) {
    group->setTimeout(timeout);
  }
}

void DeviceGroup::abort(const std::string& reason) {
  for (const auto& [device, group] : groups_) {
    group->abort(reason);
  }
}

GroupState DeviceGroup::state() const {
  for (const auto& [device, group] : groups_) {
    if (const GroupState state = group->state(); state != GroupState::kSuccess) {
      return state;
    }
  }
  return GroupState::kSuccess;
}

ProcessGroup& DeviceGroup::groupOf(const ForwardedCall& call) const {
  const c10::DeviceType device = call.tensors.front().device().type();
  for (const auto* list : {&call.tensors, &call.outputs}) {
    for (const at::Tensor& tensor : *list) {
      if (tensor.device().type() != device) {
        throw std::invalid_argument(
            fmt::format("{}::{}: tensors on {} and on {} in one call", backendName(),
                        trace::name(call.call.operation), deviceName(device),
                        deviceName(tensor.device().type())));
      }
    }
  }
  for (const auto& [type, group] : groups_) {
    if (type == device) {
      return *group;
    }
  }
  throw std::invalid_argument(fmt::format("{}::{}: there is no backend for tensors on {}",
                                          backendName(), trace::name(call.call.operation),
                                          deviceName(device)));
}

ProcessGroup::WorkPtr DeviceGroup::forward(ForwardedCall forwarded) {
  const Call& call = forwarded.call;
  if (call.operation == trace::Operation::kSend || call.operation == trace::Operation::kRecv) {
    return forwarded.issue(groupOf(forwarded));
  }
  if (call.operation != trace::Operation::kBarrier) {
    ProcessGroup& group = groupOf(forwarded);
    std::lock_guard lock(mutex_);
    WorkPtr work = forwarded.issue(group);
    ++sequence_;
    return work;
  }
  std::lock_guard lock(mutex_);
  ++sequence_;
  std::vector<WorkPtr> parts;
  for (const auto& [device, group] : groups_) {
    parts.push_back(forwarded.issue(*group));
  }
  CommError::Where where;
  where.group = groupName();
  where.rank = rank();
  where.operation = call.operation;
  where.sequence = sequence_;
  return joinWorks(std::move(parts), std::move(where), {},
                   call.options.timeout == kNoTimeout ? timeout() : call.options.timeout);
}

}  // namespace lockstep::process_group
