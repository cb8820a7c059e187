#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/store/Store.h"

namespace lockstep::process_group {

/// What a backend is told when a group is made.
struct GroupOptions {
  /// Unique among the groups that meet on one store; stands in keys, events and error texts.
  std::string groupName = "default";
  /// For events: 0 is the default group.
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
};

/// Returns the names makeProcessGroup takes in this build: "gloo".
[[nodiscard]] std::vector<std::string> availableBackends();

/// Makes this rank's part of a group and blocks until all `size` ranks have come, at most
/// options.timeout. The error says in a sentence which backends there are, which argument is
/// wrong, or which ranks did not come.
[[nodiscard]] base::Result<std::shared_ptr<ProcessGroup>> makeProcessGroup(
    const std::string& backend, std::shared_ptr<store::Store> store, int rank, int size,
    const GroupOptions& options = {});

}  // namespace lockstep::process_group
