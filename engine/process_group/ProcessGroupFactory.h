#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/Result.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/store/Store.h"

namespace lockstep::process_group {

/// Which collectives are compared across ranks before their data moves; see
/// checked/CheckedGroup.h.
enum class CheckMode : std::uint8_t {
  kOff,
  kFirst,  ///< those of the first steps
  kAlways,
};
/// "off", "first", "always".
std::string_view name(CheckMode mode);
/// Returns the mode of this name; nothing for any other text.
std::optional<CheckMode> checkModeFrom(std::string_view text);

/// What a backend is told when a group is made.
struct GroupOptions {
  /// Unique among the groups that meet on one store; stands in keys, events and error texts.
  std::string groupName = "default";
  /// For events: 0 is the default group. Of a group with a backend for each device the part of the
  /// CPU has 184 more, at most 255.
  std::uint8_t groupNumber = 0;
  /// For the ranks to meet, and for each operation from its call to its end.
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
  /// Operations in flight at the same time (gloo).
  int threads = 2;
  /// Network interfaces or local addresses, a context each (gloo); empty means
  /// GLOO_SOCKET_IFNAME, else 127.0.0.1.
  std::vector<std::string> interfaces;
  /// Outlives the group; null records nothing.
  trace::Tracer* tracer = nullptr;
  /// Counts the bytes on the wire where `tracer` is null: for a group that is a part of another
  /// one, which records what it does (gloo).
  trace::Tracer* wireCounter = nullptr;
  /// A made-up host that this rank is on: ranks with different ones count as ranks of different
  /// hosts, wherever they are (auto, hierarchical).
  std::string host;
  /// Anything but kOff wraps the group in a checked one.
  CheckMode check = CheckMode::kOff;
  /// For kFirst: collectives are compared until some rank's CallOptions::step reaches this.
  std::uint32_t checkSteps = 10;
  /// Groups of the backend that take turns, collective by collective (1 to 64); see
  /// round_robin/RoundRobinGroup.h. They take as many group numbers, from groupNumber on.
  int roundRobin = 1;
};

/// Makes this rank's part of a group of one backend; called with checked arguments.
using BackendFactory = std::function<base::Result<std::shared_ptr<ProcessGroup>>(
    std::shared_ptr<store::Store> store, int rank, int size, const GroupOptions& options)>;

/// Adds a backend under a name of lower-case letters, digits and '_'; the error says that the
/// name is taken or not allowed. Backends stay until the process ends. [any-thread]
[[nodiscard]] base::Status registerBackend(const std::string& name, BackendFactory factory);

/// Returns the names makeProcessGroup takes in this build, "auto", "gloo", "hierarchical", "mpi",
/// "nccl" and "shared_memory" as far as it has them, and those that were registered, sorted.
/// [any-thread]
[[nodiscard]] std::vector<std::string> availableBackends();

/// Makes this rank's part of a group and blocks until all `size` ranks have come, at most
/// options.timeout. `backend` is a name ("gloo") or a map from device types to names
/// ("cpu:gloo,cuda:nccl"); with a map each call goes to the backend of its tensors' device. The
/// error says in a sentence which backends there are, which argument is wrong, or which ranks
/// did not come. Wrappers from the outside in: checked, round robin, device map.
[[nodiscard]] base::Result<std::shared_ptr<ProcessGroup>> makeProcessGroup(
    const std::string& backend, std::shared_ptr<store::Store> store, int rank, int size,
    const GroupOptions& options = {});

/// Wraps `inner`, which may itself be a wrapper, in a checked group as options.check says; the
/// records of the checks travel over a group of `backend` (a plain name) that meets on `store`.
/// makeProcessGroup() does this by itself.
[[nodiscard]] base::Result<std::shared_ptr<ProcessGroup>> makeChecked(
    std::shared_ptr<ProcessGroup> inner, const std::string& backend,
    std::shared_ptr<store::Store> store, const GroupOptions& options);

}  // namespace lockstep::process_group
