#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::data_parallel {

/// A place where one replica lives and computes. On a CPU devices are virtual: each is a thread
/// with memory of its own for its replica, and what would cross a bus is copied.
struct Device {
  c10::Device place{c10::kCPU};
  int number = 0;                 ///< tells virtual devices of one place apart
  std::uint64_t memoryBytes = 0;  ///< 0: unknown
  std::uint32_t cores = 0;        ///< multiprocessors of a GPU; 0: unknown

  /// Returns "cpu 1" for a virtual device, "cuda:1" for a GPU.
  [[nodiscard]] std::string name() const;

  /// Whether data on `other` need no copy to be here.
  [[nodiscard]] bool isSameAs(const Device& other) const {
    return place == other.place && number == other.number;
  }
};

/// Returns `count` virtual devices on the CPU, numbered from 0.
std::vector<Device> virtualDevices(int count);

/// Returns a sentence when one device has less than 75 % of another's memory or, if the memory
/// is even, of its cores: every step waits for that one (torch.nn.DataParallel's balance
/// warning). Devices of unknown size are left out. [any-thread]
std::optional<std::string> imbalance(const std::vector<Device>& devices);

}  // namespace lockstep::data_parallel
