#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <string>

#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/HashStore.h"
#include "tests/support/RankThreads.h"

namespace lockstep::process_group {

/// Options for tests: nothing may wait for half an hour.
GroupOptions quickOptions(std::chrono::milliseconds timeout = std::chrono::seconds(20));

/// The same, every operation compared across the ranks.
GroupOptions alwaysChecked();

/// Runs `body` with each rank's part of a group, ranks as threads. The bodies begin when every
/// rank has made its part, so that none can break a group that another still joins; the groups
/// are destroyed together, after every body has returned.
void runGroups(int size,
               const std::function<base::Result<std::shared_ptr<ProcessGroup>>(int rank)>& make,
               const std::function<void(ProcessGroup&)>& body);

/// The same with groups of one backend over one HashStore.
void runGroup(int size, const std::function<void(ProcessGroup&)>& body,
              const GroupOptions& options = quickOptions(), const std::string& backend = "gloo");

/// Runs `function` and returns the text of the exception of type E that it throws.
template <typename E, typename Function>
std::string textOf(Function function) {
  try {
    function();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// A float tensor of `elements` equal values.
inline at::Tensor filled(std::int64_t elements, double value) {
  return at::full({elements}, value, at::kFloat);
}

}  // namespace lockstep::process_group
