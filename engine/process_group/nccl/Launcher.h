#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/process_group/Call.h"
#include "engine/process_group/nccl/Communicators.h"
#include "engine/process_group/nccl/Operand.h"
#include "engine/process_group/nccl/Watchdog.h"
#include "engine/process_group/operation/Workers.h"

namespace lockstep::process_group::nccl {

/// One call on its way to the device.
struct Launch {
  Call call;
  std::chrono::milliseconds limit{0};
  std::vector<at::Tensor> outputs;
  /// All tensors of the call, the first of which says the device; none: the current device.
  std::vector<at::Tensor> tensors;
  std::vector<Operand> reads;          ///< are filled before, on the channel's stream
  std::vector<Operand> writes;         ///< are emptied after, likewise
  std::function<void()> before;        ///< queues other copies there; may be empty
  std::function<void(Channel&)> body;  ///< asks the communicator
  /// send and recv: from which rank to which.
  std::optional<std::pair<int, int>> pair;
};

/// Brings calls onto the streams of one group, in the order in which they are made. A collective
/// is there when launch() returns, which waits, at the first one, for the other ranks; a message
/// between two ranks is brought there by a thread of its pair, since the two meet at their first
/// one, and a rank that waited for that in the call would hold up those that wait for it in turn.
class Launcher {
 public:
  /// `callee` opens the texts of refusals.
  Launcher(std::string callee, const Member& member, std::shared_ptr<Devices> devices,
           std::shared_ptr<Library> library, const std::shared_ptr<store::Store>& store);
  /// Waits a while for what is in flight.
  ~Launcher();

  /// Throws std::invalid_argument for tensors of other devices. [any-thread]
  std::shared_ptr<Work> launch(Launch launch);

  [[nodiscard]] Watchdog& watchdog() { return watchdog_; }

 private:
  using FlightPtr = std::shared_ptr<Flight>;

  void checkDevices(const Launch& launch) const;
  void post(const FlightPtr& flight, Launch launch, Device& device,
            const std::shared_ptr<Event>& inputs);
  /// Returns what it failed with.
  std::optional<Failure> bring(const FlightPtr& flight, const Launch& launch, Device& device,
                               const Event& inputs);
  void queue(const FlightPtr& flight, const Launch& launch, Device& device, const Event& inputs);
  void standBehindAll(const Flight& barrier, const c10::Stream& stream);

  const std::string callee_;
  const std::shared_ptr<Devices> devices_;
  std::mutex mutex_;  // calls are numbered and brought in one order
  Communicators communicators_;
  Watchdog watchdog_;
  std::map<std::pair<int, int>, std::unique_ptr<Workers>> pairs_;  // one thread each
};

}  // namespace lockstep::process_group::nccl
