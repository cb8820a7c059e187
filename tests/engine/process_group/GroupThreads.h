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

/// Runs `body` with each rank's part of a Gloo group, ranks as threads over one HashStore. The
/// groups are destroyed together, after every body has returned.
void runGroup(int size, const std::function<void(ProcessGroup&)>& body,
              const GroupOptions& options = quickOptions());

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
