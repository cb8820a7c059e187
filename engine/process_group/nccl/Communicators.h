#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/process_group/Failure.h"
#include "engine/process_group/nccl/Library.h"
#include "engine/store/Store.h"

namespace lockstep::process_group::nccl {

/// Thrown where a communicator cannot be had.
struct Unreachable {
  Failure failure;
};

/// One communicator with the stream that its operations go on, in their order.
struct Channel {
  Channel(Device& ownDevice, DeviceClock& ownClock, std::string ownName)
      : device(ownDevice), clock(ownClock), name(std::move(ownName)), stream(device.makeStream()) {}
  ~Channel() { device.releaseStream(stream); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  Device& device;
  DeviceClock& clock;
  const std::string name;
  const c10::Stream stream;
  std::unique_ptr<Communicator> communicator;
  /// Held while it is asked for something, so that it is not given up in the middle.
  std::mutex asking;
};

/// The communicators of one group, each made when an operation first needs it: one of all ranks for
/// each device of this process, and one for each pair of ranks and direction that sends, so that
/// a send which nobody receives yet holds up nothing else (c10d's has one for both directions, and
/// there two ranks that send to each other before they receive hang). The id of a communicator
/// goes through the store. all() is for one thread at a time, and so is pair() of one pair; else
/// [any-thread].
class Communicators {
 public:
  struct Options {
    std::string group;
    int rank = 0;
    int size = 1;
  };
  using Deadline = std::chrono::steady_clock::time_point;

  Communicators(Options options, std::shared_ptr<Library> library,
                std::shared_ptr<store::Store> store)
      : options_(std::move(options)), library_(std::move(library)), store_(std::move(store)) {}
  /// Ends all in order, at the same time, since each waits a while for its peers.
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  /// Of all ranks, on `device`: the n-th device that this process uses meets the others' n-th.
  /// Blocks until all have come; throws Unreachable, which names those that have not, and
  /// LibraryError, DeviceError.
  Channel& all(Device& device, Deadline deadline);
  /// From one rank, which is 0 in it, to another.
  Channel& pair(Device& device, int from, int to, Deadline deadline);

  /// Blocks until what was asked of the channel is under way; false: not until `deadline`. Throws
  /// LibraryError, and Unreachable after abort().
  [[nodiscard]] bool settle(Channel& channel, Deadline deadline) const;

  /// Every channel so far.
  [[nodiscard]] std::vector<std::shared_ptr<Channel>> channels() const;

  /// Gives up all of them at the same time, since one's end may wait for what another has on the
  /// device, and whoever waits here. Waits until all have ended, some seconds at most.
  void abort();
  /// Throws LibraryError when one has failed.
  void check() const;

  [[nodiscard]] Library& library() const { return *library_; }

 private:
  DeviceClock& clockOf(Device& device);
  Channel& make(Device& device, const std::string& name, const std::vector<int>& members,
                Deadline deadline);
  std::string fetchId(const std::string& key, const std::vector<int>& members,
                      Deadline deadline) const;
  [[nodiscard]] Failure absent(const Channel& channel, const std::vector<int>& members) const;

  const Options options_;
  const std::shared_ptr<Library> library_;
  const std::shared_ptr<store::Store> store_;
  std::atomic<bool> aborted_{false};
  mutable std::mutex mutex_;  // guards the map, not what one thread at a time makes
  std::map<std::string, std::shared_ptr<Channel>> channels_;
  std::map<c10::DeviceIndex, std::unique_ptr<DeviceClock>> clocks_;
  std::map<c10::DeviceIndex, std::string> namesOfDevices_;
};

}  // namespace lockstep::process_group::nccl
